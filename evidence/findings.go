package evidence

import (
	"encoding/json"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// Findings are what the records tell, in the order in which it happened. Values of
// effects have references in them, {"$object": DIGEST}, to the contents of the records.
type Findings struct {
	Answer    *Answer      `json:"answer,omitempty"` // nil: there is none
	Runs      []Run        `json:"runs,omitempty"`
	Sessions  []Session    `json:"sessions,omitempty"` // parents before their children
	Models    []ModelCall  `json:"models,omitempty"`
	Tools     []ToolCall   `json:"tools,omitempty"`
	Questions []Question   `json:"questions,omitempty"`
	Memory    []MemoryCall `json:"memory,omitempty"`  // what was read there and written
	Choices   []Choice     `json:"choices,omitempty"` // of selectors; from version 4 on
	Other     []Effect     `json:"other,omitempty"`   // effects of all other kinds
	Rejected  []Rejection  `json:"rejected,omitempty"`
	Removed   []Removal    `json:"removed,omitempty"`
	Settled   []Settlement `json:"settled,omitempty"`
	Totals    Totals       `json:"totals"`
}

// Answer is the last chunk of the run's output, or of the session, and where it is from.
type Answer struct {
	Session session.ID     `json:"session"`
	Chunk   session.Digest `json:"chunk"`
	Kind    session.Kind   `json:"kind"`              // a tool result, say, where the run was cut off
	Origin  session.ID     `json:"origin"`            // the session that first had the chunk
	Path    string         `json:"path,omitempty"`    // the workflow that made that session
	Run     string         `json:"run,omitempty"`     // the run that made it
	Model   string         `json:"model,omitempty"`   // that gave the chunk
	Effect  int64          `json:"effect,omitempty"`  // in which it did
	Lineage []session.ID   `json:"lineage,omitempty"` // from a first session down to Session, by way of Origin
	Merged  []session.ID   `json:"merged,omitempty"`  // the merges among all ancestors
	Tools   []ToolUse      `json:"tools,omitempty"`   // that were called on the way to the answer
	Place   Place          `json:"place,omitzero"`    // the session's
}

// ToolUse counts the calls of one tool.
type ToolUse struct {
	Tool   string `json:"tool"`
	Calls  int    `json:"calls"`
	Failed int    `json:"failed,omitempty"` // of these, how many did not end well
}

// Place is where a session's tools ran. The zero Place is nowhere.
type Place struct {
	Backend string `json:"backend"`
	Level   string `json:"level,omitempty"` // of isolation
	ID      string `json:"id,omitempty"`    // of the sandbox
	Dir     string `json:"dir,omitempty"`
	Image   string `json:"image,omitempty"`
}

// Run is a run.
type Run struct {
	ID       session.ID      `json:"id"`
	Name     string          `json:"name"`
	Program  string          `json:"program"` // the fingerprint of its prompts, tools and schemas
	Spec     json.RawMessage `json:"spec,omitempty"`
	Source   session.ID      `json:"source,omitzero"` // the run that this one reruns
	Input    session.ID      `json:"input"`
	Output   session.ID      `json:"output,omitzero"`
	State    store.State     `json:"state"`
	Error    string          `json:"error,omitempty"`
	Created  time.Time       `json:"created"`
	Ended    time.Time       `json:"ended,omitzero"`
	Deadline time.Time       `json:"deadline,omitzero"`
	States   []StateChange   `json:"states,omitempty"` // the changes of state and owner after its beginning
	Head     store.Head      `json:"head"`             // the end of the event chain
	Usage    session.Usage   `json:"usage"`            // of this run alone
}

// StateChange is a change of a run's state, or of who drives it.
type StateChange struct {
	Seq   int64       `json:"seq"` // the event
	Time  time.Time   `json:"time"`
	State store.State `json:"state"`
	Owner string      `json:"owner,omitempty"` // who drives it from now on
	Error string      `json:"error,omitempty"`
}

// Session is a session's place in the story.
type Session struct {
	ID     session.ID       `json:"id"`
	Shared int              `json:"shared,omitempty"` // so many first chunks are a parent's
	Added  []session.Digest `json:"added,omitempty"`  // the chunks that no parent has
	Answer bool             `json:"answer,omitempty"` // the answer came from it or through it
}

// Span is when an effect happened, and how.
type Span struct {
	Run       session.ID `json:"run,omitzero"`
	Effect    int64      `json:"effect,omitempty"` // the number of its event; 0: none is known
	Path      string     `json:"path,omitempty"`   // the workflow
	Begun     time.Time  `json:"begun,omitzero"`
	TookUS    int64      `json:"took_us,omitempty"`
	Attempts  int        `json:"attempts,omitempty"` // how often it was begun
	Error     string     `json:"error,omitempty"`
	Cancelled bool       `json:"cancelled,omitempty"`
	Open      bool       `json:"open,omitempty"` // it began, and nobody knows how it ended
}

// ModelCall is a model's reply.
type ModelCall struct {
	Span
	Model    string          `json:"model"`              // that was asked
	Served   string          `json:"served,omitempty"`   // that says it replied
	ReplyID  string          `json:"reply_id,omitempty"` // the provider's
	Session  session.ID      `json:"session,omitzero"`   // that the reply went to, or that it was asked for; zero: none that was kept
	For      string          `json:"for,omitempty"`      // ForChoice, ForSummary; empty: the reply is part of the conversation
	Reply    session.Digest  `json:"reply,omitzero"`     // the chunk
	Prompt   Extent          `json:"prompt"`
	Messages Extent          `json:"messages"`
	Params   json.RawMessage `json:"params,omitempty"`
	Offered  []string        `json:"offered,omitempty"` // tools
	Stop     string          `json:"stop,omitempty"`
	Usage    session.Usage   `json:"usage"`
	Retries  json.RawMessage `json:"retries,omitempty"` // the attempts before, that failed
}

// Extent is a transcript that was sent.
type Extent struct {
	Len    int            `json:"len"`
	Digest session.Digest `json:"digest"`
}

// ToolCall is a call that a model made, and what came of it.
type ToolCall struct {
	Span
	Tool      string          `json:"tool"`
	CallID    string          `json:"call_id"`
	Class     string          `json:"class,omitempty"` // mutating, idempotent, read_only
	Session   session.ID      `json:"session,omitzero"`
	Asked     session.Digest  `json:"asked,omitzero"` // the assistant's chunk
	Arguments string          `json:"arguments"`      // as the model wrote them
	Edited    string          `json:"edited,omitempty"`
	Check     Check           `json:"check"`
	Outcome   session.Outcome `json:"outcome"`
	Failure   string          `json:"failure,omitempty"` // the kind of failure the model was told of
	Result    session.Digest  `json:"result,omitzero"`   // the chunk; zero: there is none
	Fatal     string          `json:"fatal,omitempty"`
	Place     Place           `json:"place,omitzero"`
	Question  string          `json:"question,omitempty"` // the key of the question that it had to wait for
	Approved  *bool           `json:"approved,omitempty"` // nil: nobody was asked
}

// Check is what came of a call's arguments before anything ran.
type Check string

// The outcomes of the check.
const (
	CheckPassed  Check = "passed"
	CheckFailed  Check = "failed"  // they did not fit the tool's schema
	CheckNoTool  Check = "no_tool" // there is no such tool
	CheckUnknown Check = "unknown" // the call was not come to, or no record tells
)

// Question is a decision that was asked of a person, or of the program's approver.
type Question struct {
	Run       session.ID      `json:"run,omitzero"`
	Effect    int64           `json:"effect,omitempty"`
	Path      string          `json:"path,omitempty"`
	Key       string          `json:"key,omitempty"` // within the run; empty: an approver's
	Kind      string          `json:"kind"`          // approval, input, review
	Message   string          `json:"message,omitempty"`
	Tool      string          `json:"tool,omitempty"` // of the call to be approved
	CallID    string          `json:"call_id,omitempty"`
	Arguments string          `json:"arguments,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Asked     time.Time       `json:"asked,omitzero"`
	Expires   time.Time       `json:"expires,omitzero"`
	Decided   time.Time       `json:"decided,omitzero"` // zero: it is not
	By        string          `json:"by,omitempty"`
	Verdict   string          `json:"verdict,omitempty"` // approve, edit, reject, respond, expired
	Text      string          `json:"text,omitempty"`
	Edited    string          `json:"edited,omitempty"` // what the call got instead
}

// Effect is an effect of any kind.
type Effect struct {
	Span
	Kind  string          `json:"kind"`
	Name  string          `json:"name,omitempty"`
	Class string          `json:"class,omitempty"` // in memory, read_only reads and the others write
	Input json.RawMessage `json:"input,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Rejection is something that did not make it into the answer.
type Rejection struct {
	Why     Why        `json:"why"`
	Reason  string     `json:"reason,omitempty"`
	By      string     `json:"by,omitempty"` // who refused it
	Run     session.ID `json:"run,omitzero"`
	Path    string     `json:"path,omitempty"`
	Session session.ID `json:"session,omitzero"`
	Effect  int64      `json:"effect,omitempty"`
	Key     string     `json:"key,omitempty"` // of the question
	What    string     `json:"what"`          // the operation, the tool, the model, the question
}

// Why something was rejected.
type Why string

// The reasons.
const (
	WhyRejected  Why = "rejected"  // somebody refused it
	WhyExpired   Why = "expired"   // nobody answered in time
	WhyFailed    Why = "failed"    // it ended with an error
	WhyTruncated Why = "truncated" // it took too many steps
	WhyCancelled Why = "cancelled" // it was stopped from outside
	WhyUnused    Why = "unused"    // the answer does not come from it
)

// Removal is what a compression took out of a transcript.
type Removal struct {
	Session session.ID       `json:"session"` // the compressed one
	From    session.ID       `json:"from"`
	Len     int              `json:"len,omitempty"`   // so many first chunks of From the summary is of; from version 4 on
	Digest  session.Digest   `json:"digest,omitzero"` // of these, by which the summary names them
	Path    string           `json:"path,omitempty"`
	Removed []session.Digest `json:"removed,omitempty"` // chunks
	Kept    int              `json:"kept"`
	Added   []session.Digest `json:"added,omitempty"` // in their place
}

// Settlement is what somebody said of an effect whose end nobody saw.
type Settlement struct {
	Run     session.ID      `json:"run"`
	Source  session.ID      `json:"source,omitzero"` // the run that it was said in, if this one only took it over
	Seq     int64           `json:"seq"`             // the event
	Time    time.Time       `json:"time"`
	Effect  int64           `json:"effect"`
	Path    string          `json:"path,omitempty"`
	Kind    string          `json:"kind"`
	Name    string          `json:"name,omitempty"`
	Verdict store.Verdict   `json:"verdict"`
	By      string          `json:"by,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
}

// Totals are sums of usage. A price that is not known stays so.
type Totals struct {
	All    session.Usage `json:"all"`             // everything here, each session once
	Answer session.Usage `json:"answer"`          // what the answer comes from
	Absent int           `json:"absent"`          // ancestors whose usage is not known
	Paths  []PathTotal   `json:"paths,omitempty"` // by run and workflow
}

// PathTotal is what one workflow of one run used.
type PathTotal struct {
	Run    string        `json:"run,omitempty"`
	Path   string        `json:"path,omitempty"`
	Usage  session.Usage `json:"usage"`
	Models int           `json:"models"` // model calls that events tell of
	Tools  int           `json:"tools"`
	TookUS int64         `json:"took_us"` // by models and tools together
}
