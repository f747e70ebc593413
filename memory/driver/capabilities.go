package driver

import (
	"reflect"
	"strings"
)

// Capabilities say what a driver can do beside keeping plain notes.
type Capabilities struct {
	Lexical  bool // finds words
	Semantic bool // finds meanings, now: an embedding provider is there
	Filter   bool // by metadata and time
	Metadata bool // keeps all of a note's fields, not only text and folder
	Merge    bool // Put with Merge joins and ends notes
	Atomic   bool // Put keeps all of several notes or none
	Move     bool
	Ingest   bool // implements Ingester
	Commit   bool // implements Committer
	Archive  bool // implements Archiver
}

// String lists what there is: "lexical, filter".
func (c Capabilities) String() string {
	var names []string
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if v.Field(i).Bool() {
			names = append(names, strings.ToLower(v.Type().Field(i).Name))
		}
	}
	return strings.Join(names, ", ")
}
