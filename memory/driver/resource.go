package driver

// Resource is a document to keep. One of Name and Data is set.
type Resource struct {
	URI  URI    // the folder to keep it in
	Name string // a file, or an http or https address
	Data []byte // or the content itself
	MIME string // of Data; empty: found out
	Wait bool   // until it can be found
}

// Ingested is what became of a resource.
type Ingested struct {
	URI     URI      `json:"uri"` // the folder that its notes are in
	Files   int      `json:"files"`
	Notes   int      `json:"notes"`
	Known   int      `json:"known"`             // files that were there already, to the byte
	Skipped []string `json:"skipped,omitempty"` // files, and why
}
