package sqlite

import (
	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/store"
)

// schema leads from each version of the file to the next. Its migrations are never edited:
// what changes is appended.
var schema = sqlitedb.Schema{
	Application: 0x72617468, // "rath"
	Newer:       store.ErrNewer,
	Migrations:  []string{schema1},
}

// Digests are cut to 16 bytes where they serve to find a row: what is found is held
// against the whole digest when it is read.
const schema1 = `
-- What is addressed by its content: chunks and large values.
CREATE TABLE objects (
	id     INTEGER PRIMARY KEY,
	digest BLOB NOT NULL UNIQUE, -- of the data, cut
	size   INTEGER,              -- of the data, where the body is compressed
	body   BLOB NOT NULL
) STRICT;

-- Transcripts, as a trie: an entry stands for the transcript that ends with it, and is
-- found by that transcript's digest. So a prefix is kept once, whatever shares it.
CREATE TABLE entries (
	id     INTEGER PRIMARY KEY,
	prev   INTEGER NOT NULL, -- an earlier entry; 0: none
	chunk  INTEGER NOT NULL, -- an object
	digest BLOB NOT NULL UNIQUE -- of the transcript, cut
) STRICT;

CREATE TABLE sessions (
	id        BLOB PRIMARY KEY,
	tip       INTEGER NOT NULL, -- its last entry; 0: none
	len       INTEGER NOT NULL,
	digest    BLOB NOT NULL,    -- of the transcript
	op        TEXT NOT NULL,
	path      TEXT,
	run       ANY,              -- a run's id, or text that is none
	time      INTEGER NOT NULL, -- in microseconds, as all times here; 0: unknown
	usage     BLOB,             -- varints
	placement BLOB,             -- JSON
	extras    BLOB              -- JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_run ON sessions (run) WHERE run IS NOT NULL;

-- A parent may be missing from sessions.
CREATE TABLE edges (
	child  BLOB NOT NULL REFERENCES sessions ON DELETE CASCADE,
	n      INTEGER NOT NULL,
	parent BLOB NOT NULL,
	role   TEXT, -- NULL: input
	PRIMARY KEY (child, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_parent ON edges (parent);

CREATE TABLE runs (
	num      INTEGER PRIMARY KEY,
	id       BLOB NOT NULL UNIQUE,
	name     TEXT NOT NULL,
	program  TEXT NOT NULL,
	spec     BLOB,
	source   BLOB,
	input    BLOB NOT NULL,
	output   BLOB,
	state    TEXT NOT NULL,
	error    TEXT,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	deadline INTEGER NOT NULL,
	owner    TEXT, -- of the lease; NULL: nobody has it
	fence    INTEGER NOT NULL,
	expires  INTEGER NOT NULL,
	cancel   INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_created ON runs (created);
CREATE INDEX runs_open ON runs (state) WHERE state IN ('queued', 'running', 'waiting', 'needs_review');

-- In the order of their arrival, so that the events of many runs share pages.
CREATE TABLE events (
	id   INTEGER PRIMARY KEY,
	run  INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	seq  INTEGER NOT NULL,
	time INTEGER NOT NULL,
	kind TEXT NOT NULL,
	body BLOB NOT NULL,
	hash BLOB NOT NULL,
	UNIQUE (run, seq)
) STRICT;

CREATE TABLE interrupts (
	num      INTEGER PRIMARY KEY,
	run      INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	key      TEXT NOT NULL,
	kind     TEXT NOT NULL,
	request  BLOB,
	asked    INTEGER NOT NULL,
	expires  INTEGER NOT NULL, -- 0: never
	decision BLOB,
	decided  INTEGER NOT NULL, -- 0: not yet
	by       TEXT NOT NULL,
	UNIQUE (run, key)
) STRICT;

-- How often something was removed: what a process remembers of rows holds until then.
CREATE TABLE collections (count INTEGER NOT NULL) STRICT;
INSERT INTO collections VALUES (0);
`
