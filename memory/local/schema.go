package local

import "github.com/openrath-go/rath/internal/sqlitedb"

// schema leads from each version of the file to the next. Its migrations are never
// edited: what changes is appended.
var schema = sqlitedb.Schema{
	Application: 0x726d656d, // "rmem"
	Newer:       ErrNewer,
	Migrations:  []string{schema1 + indexSchema, schema2 + documentSchema},
}

// Times are in nanoseconds since 1970; 0 is the zero time. What is empty is NULL, but for
// the text. Ids of notes are never used again.
const schema1 = `
CREATE TABLE notes (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	uri        TEXT NOT NULL UNIQUE,
	text       TEXT NOT NULL,
	title      TEXT,
	context    TEXT,
	about      TEXT,
	importance REAL,
	trust      TEXT,
	meta       TEXT, -- a JSON object of strings
	source     TEXT, -- JSON
	created    INTEGER NOT NULL,
	time       INTEGER NOT NULL,
	until      INTEGER NOT NULL, -- 0: it still holds
	replaces   TEXT,
	words      INTEGER NOT NULL -- a hash of the form in which same texts are equal
) STRICT;
CREATE INDEX notes_about ON notes (about, uri) WHERE about IS NOT NULL;
CREATE INDEX notes_replaces ON notes (replaces) WHERE replaces IS NOT NULL;
CREATE INDEX notes_until ON notes (until) WHERE until <> 0;
CREATE INDEX notes_time ON notes (time);
CREATE INDEX notes_words ON notes (words);

-- Transcripts, as a trie: a row stands for the transcript that ends with its chunk, and is
-- found by that transcript's digest. So a beginning is kept once, whatever shares it.
CREATE TABLE chunks (
	id     INTEGER PRIMARY KEY,
	prev   INTEGER NOT NULL, -- an earlier one; 0: none
	digest BLOB NOT NULL UNIQUE, -- of the transcript
	body   BLOB NOT NULL
) STRICT;

CREATE TABLE archives (
	id      INTEGER PRIMARY KEY,
	session BLOB NOT NULL,
	digest  BLOB NOT NULL,
	tip     INTEGER NOT NULL, -- its last chunk; 0: none
	len     INTEGER NOT NULL,
	time    INTEGER NOT NULL,
	used    TEXT, -- a JSON array of URIs
	UNIQUE (session, digest)
) STRICT;
CREATE INDEX archives_digest ON archives (digest);

-- What is still to be done, and a row for all that was.
CREATE TABLE jobs (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	digest  BLOB NOT NULL UNIQUE, -- of the transcript
	archive INTEGER NOT NULL REFERENCES archives,
	state   INTEGER NOT NULL, -- 0: to be done, 1: done, 2: failed for good
	owner   TEXT NOT NULL,    -- who works on it; empty: nobody
	tries   INTEGER NOT NULL,
	start   INTEGER NOT NULL, -- chunks that an earlier job has
	due     INTEGER NOT NULL, -- not to be taken up before: the lease's end, or the next try
	why     TEXT              -- the last try failed
) STRICT;
CREATE INDEX jobs_state ON jobs (state, id);

CREATE TABLE extras (
	name TEXT NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) STRICT;
`

// schema2 remembers what a job has kept.
const schema2 = `ALTER TABLE jobs ADD COLUMN notes TEXT; -- a JSON array of URIs`
