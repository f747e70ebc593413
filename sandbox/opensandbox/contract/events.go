package contract

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// event is what a stream tells.
type event struct {
	Type           string            `json:"type,omitempty"`
	Text           string            `json:"text,omitempty"`
	ExecutionCount int               `json:"execution_count,omitempty"`
	ExecutionTime  int64             `json:"execution_time,omitempty"`
	Timestamp      int64             `json:"timestamp,omitempty"`
	Results        map[string]string `json:"results,omitempty"`
	Error          *eventError       `json:"error,omitempty"`
}

type eventError struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// events writes a stream: bare objects, each followed by an empty line. Its header goes out
// with the first one, so that until then an error can be answered.
type events struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	begun bool
	over  bool
}

func newEvents(w http.ResponseWriter) *events { return &events{w: w} }

// send writes an object. Nothing is written once the stream is over.
func (e *events) send(v any) {
	data, _ := json.Marshal(v)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return
	}
	if !e.begun {
		e.begun = true
		e.w.Header().Set("Content-Type", "text/event-stream")
		e.w.Header().Set("Cache-Control", "no-cache")
	}
	_, _ = e.w.Write(append(data, '\n', '\n'))
	_ = http.NewResponseController(e.w).Flush()
}

func (e *events) tell(ev event) {
	ev.Timestamp = time.Now().UnixMilli()
	e.send(ev)
}

func (e *events) text(kind, text string) { e.tell(event{Type: kind, Text: text}) }

// pings shows until the stream is closed that it is alive.
func (e *events) pings() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(3 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				e.text("ping", "pong")
			case <-done:
				return
			}
		}
	}()
	e.text("ping", "pong")
	return func() {
		close(done)
		<-ended
		e.mu.Lock()
		defer e.mu.Unlock()
		e.over = true
	}
}
