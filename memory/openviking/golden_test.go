package openviking_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/openviking"
	"github.com/openrath-go/rath/memory/openviking/contract"
	"github.com/openrath-go/rath/session"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func copyBody(w io.Writer, res *http.Response) (int64, error) {
	defer res.Body.Close()
	return io.Copy(w, res.Body)
}

// recorder writes down what is sent, and what comes back.
type recorder struct {
	next  http.RoundTripper
	files []txtar.File
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.Body != nil {
		sent, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	res, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	var got bytes.Buffer
	if _, err := copyBody(&got, res); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(got.Bytes()))
	n := len(r.files)/2 + 1
	r.files = append(r.files,
		txtar.File{Name: fmt.Sprintf("%d request", n), Data: r.request(req, sent)},
		txtar.File{Name: fmt.Sprintf("%d reply", n), Data: append([]byte(fmt.Sprintln(res.StatusCode)), indent(got.Bytes())...)})
	return res, nil
}

func (r *recorder) request(req *http.Request, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, req.Method, req.URL.RequestURI())
	for _, name := range []string{"X-API-Key", "Authorization", "X-OpenViking-Account", "X-OpenViking-User", "Content-Type"} {
		kind, params, _ := mime.ParseMediaType(req.Header.Get(name))
		if boundary := params["boundary"]; kind != "" && boundary != "" {
			body = bytes.ReplaceAll(bytes.ReplaceAll(body, []byte(boundary), []byte("BOUNDARY")), []byte("\r\n"), []byte("\n"))
			fmt.Fprintf(&b, "%s: %s; boundary=BOUNDARY\n", name, kind)
		} else if v := req.Header.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	if len(body) > 0 {
		b.WriteByte('\n')
		b.Write(indent(body))
	}
	return b.Bytes()
}

func indent(body []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, bytes.TrimSpace(body), "", "  ") != nil {
		b.Reset()
		b.Write(body)
	}
	if !bytes.HasSuffix(b.Bytes(), []byte("\n")) {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// What is sent, and what the documents have the server answer, is kept to the byte.
func TestGolden(t *testing.T) {
	ctx := t.Context
	for name, do := range map[string]func(driver.Store) error{
		"notes": func(d driver.Store) error {
			n := driver.Note{URI: "memory://user/memories/preferences/0a1b2c3d", Text: "Likes tea."}
			if _, err := d.Put(ctx(), driver.Merge, n); err != nil {
				return err
			}
			n.Text = "Likes green tea."
			if _, err := d.Put(ctx(), driver.Replace, n); err != nil {
				return err
			}
			if _, err := d.Get(ctx(), n.URI); err != nil {
				return err
			}
			if _, err := d.List(ctx(), n.URI.Parent()); err != nil {
				return err
			}
			if err := d.Move(ctx(), n.URI, "memory://user/memories/drinks/tea.md"); err != nil {
				return err
			}
			_, err := d.Remove(ctx(), "memory://user/memories", true)
			return err
		},
		"find": func(d driver.Store) error {
			if _, err := d.Put(ctx(), driver.Replace, driver.Note{URI: "memory://user/memories/preferences/a", Text: "Likes tea."}); err != nil {
				return err
			}
			_, err := d.Find(ctx(), driver.Query{Text: "tea", Limit: 4, Under: []driver.URI{"memory://user", "memory://resources"}, Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
			return err
		},
		"levels": func(d driver.Store) error {
			if _, err := d.Put(ctx(), driver.Replace, driver.Note{URI: "memory://resources/tea/a.md", Text: "# Tea\n"}); err != nil {
				return err
			}
			for _, level := range []driver.Level{driver.Abstract, driver.Overview} {
				if _, err := d.(driver.Leveler).Level(ctx(), "memory://resources/tea", level); err != nil {
					return err
				}
			}
			return nil
		},
		"resource": func(d driver.Store) error {
			_, err := d.(driver.Ingester).Ingest(ctx(), driver.Resource{URI: "memory://resources/guide", Name: "guide.md", Data: []byte("# Guide\n"), Wait: true})
			if err == nil {
				_, err = d.(driver.Ingester).Ingest(ctx(), driver.Resource{URI: "memory://resources/web", Name: "https://example.com/a.html"})
			}
			return err
		},
		"commit": func(d driver.Store) error {
			a := archive(session.FromUser("Remember that I live in Oslo.").Append(
				session.Assistant([]session.Part{session.Text("I look.")}, session.Call{ID: "1", Name: "time", Arguments: `{"zone":"Oslo"}`}),
				session.ToolResult(session.Answer{CallID: "1", Tool: "time", Outcome: session.Failed}, session.Text("no clock"))), "memory://user/memories/a")
			if _, err := d.Put(ctx(), driver.Replace, driver.Note{URI: "memory://user/memories/a", Text: "Likes tea."}); err != nil {
				return err
			}
			_, err := d.(driver.Committer).Commit(ctx(), a, true)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := alice()
			o.Web = map[string]string{"https://example.com/a.html": "A page.\n"}
			o.Now = func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
			r := record(t, o, do)
			golden(t, name, r.files)
		})
	}
}

func record(t *testing.T, o contract.Options, do func(driver.Store) error) *recorder {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	r := &recorder{next: transport}
	d := open(t, serve(t, o), openviking.Options{HTTP: &http.Client{Transport: r}, Wait: true})
	if err := do(d); err != nil {
		t.Error(err)
	}
	return r
}

func golden(t *testing.T, name string, files []txtar.File) {
	t.Helper()
	file := filepath.Join("testdata", name+".txtar")
	got := txtar.Format(&txtar.Archive{
		Comment: []byte("Requests as they are sent, and replies as the documents of OpenViking v0.4.16 have them. Rewrite with -update.\n"),
		Files:   files,
	})
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the golden file (-update makes it): %v", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("the exchange differs from %s (-update accepts it):\n%s", file, diff)
	}
}
