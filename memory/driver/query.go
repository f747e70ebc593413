package driver

import "time"

// Query asks for notes.
type Query struct {
	// Text is words in any order; "in quotes" they must follow each other, and a word
	// with a star at its end begins others. No words: the newest notes.
	Text  string   `json:"text"`
	Under []URI    `json:"under,omitempty"` // only in these folders; none: anywhere
	Limit int      `json:"limit"`
	Match Matching `json:"match,omitempty"`

	Meta  map[string]string `json:"meta,omitempty"`  // all of these
	Trust []Trust           `json:"trust,omitempty"` // one of these; none: any
	Since time.Time         `json:"since,omitzero"`  // said then or later
	Until time.Time         `json:"until,omitzero"`  // said before
	Ended bool              `json:"ended,omitempty"` // also what another note took the place of

	Now     time.Time `json:"now,omitzero"`      // from which age counts; zero: age does not count
	Snippet int       `json:"snippet,omitempty"` // runes of text around what was found; 0: 400
}

// Matching says how notes are found.
type Matching string

// The ways of matching.
const (
	MatchBest    Matching = ""        // hybrid where there are vectors, else by words
	MatchWords   Matching = "words"   // BM25
	MatchMeaning Matching = "meaning" // cosine of vectors
)

// Hit is a note that was found.
type Hit struct {
	Note            // without its text
	Snippet string  `json:"snippet"`           // of the text, around what was found
	Whole   bool    `json:"whole,omitempty"`   // the snippet is all of the text
	Score   float64 `json:"score"`             // what hits are sorted by; comparable within one answer
	Words   float64 `json:"words,omitempty"`   // BM25, if it was found by words
	Meaning float64 `json:"meaning,omitempty"` // cosine, if it was found by meaning
}

// Found is an answer.
type Found struct {
	Hits []Hit `json:"hits"`
	// Match is how the notes were found: an answer by words alone may be all that there is.
	Match string `json:"match,omitempty"` // "words", "meaning", "hybrid", or a server's own
	// Notice says why the answer is less than what was asked for; empty: it is not.
	Notice string `json:"notice,omitempty"`
}
