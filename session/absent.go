package session

// Absent returns a session that is known by its id alone, to be named as a parent where
// the session itself is not in memory. It has no content and should not be kept.
func Absent(id ID) Session { return Session{&node{id: id, absent: true}} }
