package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openrath-go/rath/internal/telemetry"
	metricpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector takes what the command sends by OTLP over HTTP.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	service string
	spans   []*spanpb.Span
	metrics []string
	asked   []string // headers
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, r.Header.Get("X-Key"))
	var traces tracepb.ExportTraceServiceRequest
	var metrics metricpb.ExportMetricsServiceRequest
	switch {
	case err != nil:
	case r.URL.Path == "/v1/traces":
		err = proto.Unmarshal(body, &traces)
	case r.URL.Path == "/v1/metrics":
		err = proto.Unmarshal(body, &metrics)
	default:
		err = fmt.Errorf("nothing is at %s", r.URL.Path)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, rs := range traces.ResourceSpans {
		c.service = value(rs.Resource.Attributes, "service.name")
		for _, s := range rs.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
	for _, rm := range metrics.ResourceMetrics {
		for _, s := range rm.ScopeMetrics {
			for _, m := range s.Metrics {
				c.metrics = append(c.metrics, m.Name)
			}
		}
	}
}

// span returns the only span of a name.
func (c *collector) span(t *testing.T, name string) *spanpb.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	var found []*spanpb.Span
	for _, s := range c.spans {
		names = append(names, s.Name)
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans %q, the spans are %q", len(found), name, names)
	}
	return found[0]
}

func (c *collector) names() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		all = append(all, s.Name)
	}
	return all
}

func value(attrs []*commonpb.KeyValue, key string) string {
	for _, kv := range attrs {
		if kv.Key == key {
			return kv.Value.GetStringValue()
		}
	}
	return ""
}

// station is where a test runs the command.
type station struct {
	t    *testing.T
	dir  string
	vars []string
}

func newStation(t *testing.T, vars ...string) *station {
	s := &station{t, t.TempDir(), vars}
	script := `{"replies": [
		{"calls": [{"name": "read_workspace_file", "arguments": {"path": "notes.txt"}}], "usage": {"input": 20, "output": 4}},
		{"text": "They say sesame.", "usage": {"input": 30, "output": 5}}]}`
	for name, text := range map[string]string{"script.json": script, "notes.txt": "password: sesame-opens-4711\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// rath runs the command and returns both its outputs. It may take ten seconds.
func (s *station) rath(args ...string) (stdout, stderr string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), os.Args[0], args...)
	cmd.Dir = s.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL_") || strings.HasPrefix(v, "TRACEPARENT") }),
		asRath+"=1", "OPENRATH_HOME="+filepath.Join(s.dir, "home"), "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, s.vars...)
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	if failed := cmd.Run(); failed != nil {
		s.t.Fatalf("rath %q: %v\n%s", args, failed, err.String())
	}
	return out.String(), err.String()
}

func (s *station) run() (stderr string) {
	s.t.Helper()
	_, stderr = s.rath("run", "--model", "scripted:script.json", "What do the secret-notes say?")
	return stderr
}

func TestTelemetry(t *testing.T) {
	c := newCollector(t)
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	s := newStation(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=k-17", "TRACEPARENT=00-"+trace+"-"+parent+"-01")
	if stderr := s.run(); strings.Contains(stderr, "warning") {
		t.Error(stderr)
	}
	run, agent, tool := c.span(t, "invoke_workflow rath run"), c.span(t, "invoke_agent agent"), c.span(t, "execute_tool read_workspace_file")
	if fmt.Sprintf("%x %x", run.TraceId, run.ParentSpanId) != trace+" "+parent {
		t.Errorf("the run is in trace %x under %x", run.TraceId, run.ParentSpanId)
	}
	if string(agent.ParentSpanId) != string(run.SpanId) || string(tool.ParentSpanId) != string(agent.SpanId) {
		t.Error("the spans do not lie in each other")
	}
	if !slices.Contains(c.asked, "k-17") || c.service != "rath" {
		t.Errorf("headers %q, service %q", c.asked, c.service)
	}
	for _, name := range []string{"gen_ai.client.operation.duration", "gen_ai.client.token.usage"} {
		if !slices.Contains(c.metrics, name) {
			t.Errorf("there is no %s among %q", name, c.metrics)
		}
	}
	for _, span := range c.spans {
		for _, private := range []string{"sesame", "secret-notes", "notes.txt"} {
			if strings.Contains(span.String(), private) {
				t.Errorf("%s has %q: %s", span.Name, private, span)
			}
		}
	}
	asked := len(c.asked)
	s.shows(value(run.Attributes, "rath.run.id"), trace)
	if len(c.asked) != asked {
		t.Error("commands that tell nothing ask the collector")
	}
	before := len(c.names())
	s.rath("replay", "@")
	if again := c.names()[before:]; !slices.Equal(again, []string{"invoke_agent agent", "invoke_workflow rath run"}) {
		t.Errorf("a replay sent %q", again)
	}
}

// shows checks that the record of a run names its trace.
func (s *station) shows(run, trace string) {
	s.t.Helper()
	var details struct {
		ID     string
		Traces []struct{ Trace string }
	}
	stdout, _ := s.rath("runs", "show", "@", "--json")
	if err := json.Unmarshal([]byte(stdout), &details); err != nil {
		s.t.Fatal(err)
	}
	if details.ID != run || len(details.Traces) != 1 || details.Traces[0].Trace != trace {
		s.t.Errorf("the record is of %s, with the traces %v", details.ID, details.Traces)
	}
	for format, fact := range map[string]string{"html": `<dt>Trace</dt><dd class="mono">`, "md": "- Trace: "} {
		file := filepath.Join(s.dir, "dossier."+format)
		s.rath("export", run, "--format", format, "-o", file)
		s.rath("verify", file)
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), fact+trace) {
			s.t.Errorf("the dossier does not name the trace: %v", err)
		}
	}
}

func TestTelemetryContent(t *testing.T) {
	c := newCollector(t)
	newStation(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.URL+"/v1/traces", telemetry.CaptureEnv+"=true", "OTEL_SERVICE_NAME=mine").run()
	result := value(c.span(t, "execute_tool read_workspace_file").Attributes, "gen_ai.tool.call.result")
	if !strings.Contains(result, "password") || strings.Contains(result, "sesame-opens") {
		t.Errorf("the tool's result is %q", result)
	}
	if c.service != "mine" || len(c.metrics) > 0 {
		t.Errorf("service %q, metrics %q", c.service, c.metrics)
	}
}

// TestTelemetryDead: a collector that hangs, or is not there, neither stops a run nor keeps
// it for long.
func TestTelemetryDead(t *testing.T) {
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hangs.Close()
	defer close(release)
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, url := range map[string]string{"hangs": hangs.URL, "gone": gone.URL} {
		s := newStation(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+strings.Replace(url, "://", "://me:pass-17@", 1))
		begun := time.Now()
		stderr := s.run()
		if took := time.Since(begun); took > 6*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		if strings.Count(stderr, "warning: ") != 1 || !strings.Contains(stderr, "warning: 5 of 5 spans were not sent to http://127.0.0.1") || strings.Contains(stderr, "pass-17") {
			t.Errorf("%s: %s", name, stderr)
		}
	}
}

func TestTelemetryDoctor(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://me:pass-17@127.0.0.1:9"
	for _, test := range []struct {
		vars []string
		want string
	}{
		{nil, "no spans and metrics are sent"},
		{[]string{endpoint, "OTEL_SDK_DISABLED=true"}, "no spans and metrics are sent"},
		{[]string{endpoint}, "sent to http://127.0.0.1:9/v1/traces and http://127.0.0.1:9/v1/metrics, without messages"},
		{[]string{endpoint, "OTEL_METRICS_EXPORTER=none", telemetry.CaptureEnv + "=true"}, "sent to http://127.0.0.1:9/v1/traces, with messages"},
	} {
		stdout, stderr := newStation(t, test.vars...).rath("doctor")
		if !strings.Contains(stdout, test.want) || strings.Contains(stdout+stderr, "pass-17") || strings.Contains(stderr, "warning") {
			t.Errorf("%q: %s%s", test.vars, stdout, stderr)
		}
	}
	for _, vars := range [][]string{{endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, {"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318"}} {
		if stderr := newStation(t, vars...).run(); strings.Count(stderr, "warning: no spans and metrics are sent: ") != 1 {
			t.Errorf("%q: %s", vars, stderr)
		}
	}
}

// TestTelemetrySettings: a setting that is wrong does not break the command, nor does it
// print what is secret, and the rest is sent.
func TestTelemetrySettings(t *testing.T) {
	const secret = "sk-proj-0123456789abcdefghij"
	for _, test := range []struct{ setting, want string }{
		{"OTEL_BSP_MAX_QUEUE_SIZE=-1", "OTEL_BSP_MAX_QUEUE_SIZE is no number"},
		{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=9999999999999", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE is no number"},
		{"OTEL_EXPORTER_OTLP_HEADERS=Bearer " + secret, "OTEL_EXPORTER_OTLP_HEADERS has something"},
		{"OTEL_RESOURCE_ATTRIBUTES=" + secret, "a setting of OpenTelemetry is not taken: "},
		{"OTEL_TRACES_SAMPLER=some", "a setting of OpenTelemetry is not taken: "},
	} {
		c := newCollector(t)
		stderr := newStation(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, test.setting).run()
		if strings.Count(stderr, "warning: "+test.want) != 1 || strings.Count(stderr, "warning: ") != 1 || strings.Contains(stderr, secret) || strings.Contains(stderr, ".go:") {
			t.Errorf("%s: %s", test.setting, stderr)
		}
		if len(c.names()) != 5 {
			t.Errorf("%s: %q were sent", test.setting, c.names())
		}
	}
}

// TestTelemetryRefused: what a collector says stands on stderr, with how much it did not take.
func TestTelemetryRefused(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusServiceUnavailable: "to try again later", http.StatusUnauthorized: "401 Unauthorized",
	} {
		c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", status) }))
		defer c.Close()
		stderr := newStation(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.URL).run()
		if strings.Count(stderr, "warning: ") != 1 || !strings.Contains(stderr, "5 of 5 spans were not sent to "+c.URL) || !strings.Contains(stderr, want) {
			t.Errorf("%d: %s", status, stderr)
		}
	}
}

// TestTelemetryOverflow: spans that there is no room for are counted.
func TestTelemetryOverflow(t *testing.T) {
	c := newCollector(t)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(100 * time.Millisecond)
		c.take(w, r)
	}))
	defer slow.Close()
	s := newStation(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+slow.URL+"/v1/traces", "OTEL_BSP_MAX_QUEUE_SIZE=2")
	var lines strings.Builder
	for i := range 20 {
		fmt.Fprintf(&lines, "{\"prompt\":\"line %d\"}\n", i)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "in.jsonl"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr := s.rath("batch", "--sandbox", "none", "--model", "offline:", "--parallel", "8", "--out", "out.jsonl", "in.jsonl")
	var lost, of int
	at := strings.Index(stderr, "warning: ")
	if at < 0 {
		t.Fatalf("%d arrived, and nothing is said:\n%s", len(c.names()), stderr)
	}
	if _, err := fmt.Sscanf(stderr[at:], "warning: %d of %d spans were not sent", &lost, &of); err != nil || lost == 0 || len(c.names()) != of-lost || !strings.Contains(stderr, "OTEL_BSP_MAX_QUEUE_SIZE") {
		t.Errorf("%d arrived: %v\n%s", len(c.names()), err, stderr)
	}
}
