package builtin_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// do runs one call of a built-in tool in a directory.
func do(t testing.TB, dir, name, arguments string) (string, session.Outcome) {
	t.Helper()
	sb, err := local.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	d := tool.Dispatch{Tools: builtin.All()}
	chunks, err := chunksOf(d.Run(t.Context(), session.Session{}.To(sb), []session.Call{{ID: "c", Name: name, Arguments: arguments}}))
	if err != nil {
		t.Fatal(err)
	}
	return chunks[0].Text(), chunks[0].Answer().Outcome
}

func TestSchemas(t *testing.T) {
	if err := builtin.All().Check(); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, x := range builtin.All() {
		fmt.Fprintf(&b, "%s (%s)\n%s\n\n", x.Name, x.Class, x.Schema)
	}
	const golden = "testdata/schemas.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTools(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.txt", "grüße\nworld\n")
	write("bin", "\xff\x00")
	write("src/x.go", "package x\n// TODO one\nfunc X() {} // todo two\n")
	write("src/deep/y_test.go", "package deep\n")
	write(".git/config", "TODO hidden\n")
	write("long.txt", strings.Repeat("ü", 13_000))
	write("twice.txt", "one\ntwo\none\n")
	for _, test := range []struct {
		name, args string
		outcome    session.Outcome
		want       string
	}{
		{"read_workspace_file", `{"path":"a.txt"}`, session.OK, `{"data":"grüße\nworld\n"}`},
		{"read_workspace_file", `{"path":"a.txt","encoding":"UTF_8"}`, session.OK, `{"data":"grüße\nworld\n"}`},
		{"read_workspace_file", `{"path":"bin","encoding":null}`, session.OK, `{"data":"/wA="}`},
		{"read_workspace_file", `{"path":"bin"}`, session.OK, `{"data":"` + "\uFFFD" + `\u0000"}`},
		{"read_workspace_file", `{"path":"a.txt","encoding":"latin-1"}`, session.Failed, `{"ok":false,"error_kind":"unsupported","message":"the encoding \"latin-1\" is not known here","detail":"use utf-8, or null for the bytes"}`},
		{"read_workspace_file", `{"path":"long.txt"}`, session.OK, `{"data":"` + strings.Repeat("ü", 12_000) + `","truncated":true,"next_offset":24000,"size_bytes":26000}`},
		{"read_workspace_file", `{"path":"long.txt","offset":24000}`, session.OK, `{"data":"` + strings.Repeat("ü", 1000) + `","size_bytes":26000}`},
		{"read_workspace_file", `{"path":"long.txt","offset":26000}`, session.OK, `{"data":"","size_bytes":26000}`},
		{"read_workspace_file", `{"path":"long.txt","offset":90000}`, session.OK, `{"data":"","size_bytes":26000}`},
		{"read_workspace_file", `{"path":"long.txt","offset":-5}`, session.Failed, `{"ok":false,"error_kind":"invalid_tool_arguments","message":"the offset -5 is before the beginning of the file","detail":"use the next_offset of a cut result"}`},
		{"read_workspace_file", `{"path":"none"}`, session.Failed, `{"ok":false,"error_kind":"path_not_found","message":"read none: no such file or directory","detail":"paths are relative to the workspace"}`},
		{"read_workspace_file", `{"path":"src"}`, session.Failed, `{"ok":false,"error_kind":"not_a_regular_file","message":"read src: not a regular file"}`},
		{"list_workspace_files", `{"path":"src"}`, session.OK, `{"entries":[{"name":"deep","path":"src/deep","is_dir":true},{"name":"x.go","path":"src/x.go","is_dir":false}]}`},
		{"workspace_path_exists", `{"path":"src/x.go"}`, session.OK, `{"exists":true}`},
		{"workspace_path_exists", `{"path":"src/z.go"}`, session.OK, `{"exists":false}`},
		{"find_workspace_files", `{"glob":"*.go"}`, session.OK, `{"paths":["src/deep/y_test.go","src/x.go"]}`},
		{"find_workspace_files", `{"glob":"src/**/*_test.go"}`, session.OK, `{"paths":["src/deep/y_test.go"]}`},
		{"find_workspace_files", `{"glob":"deep/*","path":"src"}`, session.OK, `{"paths":["src/deep/y_test.go"]}`},
		{"find_workspace_files", `{"glob":"["}`, session.Failed, `{"ok":false,"error_kind":"invalid_tool_arguments","message":"the glob [ is malformed"}`},
		{"search_workspace", `{"pattern":"TODO"}`, session.OK, `{"matches":[{"path":"src/x.go","line":2,"text":"// TODO one"}]}`},
		{"search_workspace", `{"pattern":"todo","ignore_case":true,"glob":"*.go"}`, session.OK, `{"matches":[{"path":"src/x.go","line":2,"text":"// TODO one"},{"path":"src/x.go","line":3,"text":"func X() {} // todo two"}]}`},
		{"search_workspace", `{"pattern":"("}`, session.Failed, "{\"ok\":false,\"error_kind\":\"invalid_tool_arguments\",\"message\":\"error parsing regexp: missing closing ): `(`\"}"},
		{"write_workspace_file", `{"path":"new/b.txt","content":"ü"}`, session.OK, `{"bytes_written":2}`},
		{"edit_workspace_file", `{"path":"new/b.txt","old":"ü","new":"oh\nyes"}`, session.OK, `{"bytes_written":6,"line":1}`},
		{"read_workspace_file", `{"path":"new/b.txt"}`, session.OK, `{"data":"oh\nyes"}`},
		{"edit_workspace_file", `{"path":"twice.txt","old":"one","new":"1"}`, session.Failed, `{"ok":false,"error_kind":"text_not_unique","message":"old occurs 2 times, on lines 1, 3","detail":"take more of what is around the place you mean"}`},
		{"edit_workspace_file", `{"path":"twice.txt","old":"three","new":"1"}`, session.Failed, `{"ok":false,"error_kind":"text_not_found","message":"old does not occur in the file","detail":"it must be the same to the letter, blanks included"}`},
		{"edit_workspace_file", `{"path":"twice.txt","old":"","new":"1"}`, session.Failed, `{"ok":false,"error_kind":"invalid_tool_arguments","message":"old is empty: there is nothing to replace"}`},
		{"run_code", `{"code":"echo $((6*7)); exit 3","language":"bash"}`, session.OK, `{"text":"","stdout":"42\n","stderr":"","error":"exit code 3"}`},
		{"run_code", `{"code":"x","language":"cobol"}`, session.Failed, ""},
		{"run_code", `{"code":"sleep 60","language":"bash","timeout":1e-10}`, session.OK, `{"text":"","stdout":"","stderr":"","error":"it took longer than 1ms and was stopped"}`},
		{"run_code", `{"code":"sleep 60","language":"bash","timeout":0.1}`, session.OK, `{"text":"","stdout":"","stderr":"","error":"it took longer than 100ms and was stopped"}`},
	} {
		got, outcome := do(t, dir, test.name, test.args)
		if outcome != test.outcome || test.want != "" && got != test.want {
			t.Errorf("%s %s:\n got %s %.300q\nwant %s %.300q", test.name, test.args, outcome, got, test.outcome, test.want)
		}
	}
	var r struct {
		ExitCode  int    `json:"exit_code"`
		Stdout    string `json:"stdout"`
		Stderr    string `json:"stderr"`
		ElapsedMS *int64 `json:"elapsed_ms"`
	}
	got, _ := do(t, dir, "run_shell_command", `{"cmd":"echo out; echo err >&2; exit 4"}`)
	if err := json.Unmarshal([]byte(got), &r); err != nil || r.ExitCode != 4 || r.Stdout != "out\n" || r.Stderr != "err\n" || r.ElapsedMS == nil {
		t.Errorf("%s, %v", got, err)
	}
}

// No tool reaches a file outside, by whatever path.
func TestEscapes(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret text"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, outcome := do(t, dir, "run_shell_command", fmt.Sprintf(`{"cmd":"ln -s %s file; ln -s %s folder; ln -s / root"}`, secret, outside)); outcome != session.OK {
		t.Fatal("no links")
	}
	rel, err := filepath.Rel(dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{secret, rel, "file", "folder/secret", "root" + secret, "./x/../" + rel} {
		for _, c := range []string{
			`read_workspace_file {"path":%q}`, `write_workspace_file {"path":%q,"content":"x"}`, `edit_workspace_file {"path":%q,"old":"secret","new":"x"}`,
			`list_workspace_files {"path":%q}`, `workspace_path_exists {"path":%q}`, `find_workspace_files {"glob":"*","path":%q}`, `search_workspace {"pattern":"secret","path":%q}`,
		} {
			name, args, _ := strings.Cut(fmt.Sprintf(c, path), " ")
			got, outcome := do(t, dir, name, args)
			if outcome != session.Failed || strings.Contains(got, "secret text") || !strings.Contains(got, "path_outside_workspace") {
				t.Errorf("%s %s: %s %s", name, args, outcome, got)
			}
		}
	}
	got, _ := do(t, dir, "search_workspace", `{"pattern":"secret"}`)
	if strings.Contains(got, "secret text") {
		t.Errorf("search followed a link: %s", got)
	}
	if data, _ := os.ReadFile(secret); string(data) != "secret text" {
		t.Errorf("the file outside is now %q", data)
	}
}

// Calls on one file run in their order, also where a command among them makes a link to it.
func TestCallsFollowLinks(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("0"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	sb, err := local.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	calls := []session.Call{{Name: "run_shell_command", Arguments: `{"cmd":"ln -sfn b link"}`}}
	for i := range 20 {
		name := []string{"link", "b"}[i%2]
		calls = append(calls, session.Call{Name: "edit_workspace_file", Arguments: fmt.Sprintf(`{"path":%q,"old":"%d","new":"%d"}`, name, i, i+1)})
	}
	d := tool.Dispatch{Tools: builtin.All()}
	chunks, err := chunksOf(d.Run(t.Context(), session.Session{}.To(sb), calls))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range chunks {
		if c.Answer().Outcome != session.OK {
			t.Errorf("call %d: %s", i, c.Text())
		}
	}
	var got []string
	for _, name := range []string{"a", "b"} {
		data, _ := os.ReadFile(filepath.Join(dir, name))
		got = append(got, string(data))
	}
	if diff := cmp.Diff([]string{"0", "20"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHugeFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "huge"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "huge"), 1<<33); err != nil {
		t.Skip(err)
	}
	got, outcome := do(t, dir, "read_workspace_file", `{"path":"huge","encoding":null}`)
	if outcome != session.OK || len(got) > 13_000 || !strings.Contains(got, `"truncated":true`) {
		t.Errorf("%s, %d bytes", outcome, len(got))
	}
	got, _ = do(t, dir, "search_workspace", `{"pattern":"x"}`)
	if got != `{"matches":[],"skipped":["huge"]}` {
		t.Errorf("%s", got)
	}
	if _, outcome := do(t, dir, "edit_workspace_file", `{"path":"huge","old":"a","new":"b"}`); outcome != session.Failed {
		t.Error("a huge file was edited")
	}
}

func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 600 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%03d", i)), []byte("hit\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := do(t, dir, "list_workspace_files", `{"path":"."}`)
	if strings.Count(got, `"name"`) != 500 || !strings.Contains(got, `"truncated":true,"total":600`) {
		t.Errorf("%.200s", got)
	}
	for _, c := range []string{`find_workspace_files {"glob":"*"}`, `search_workspace {"pattern":"hit"}`} {
		name, args, _ := strings.Cut(c, " ")
		if got, _ := do(t, dir, name, args); !strings.Contains(got, `"truncated":true`) {
			t.Errorf("%s: %.200s", name, got)
		}
	}
}

func TestWithoutSandbox(t *testing.T) {
	d := tool.Dispatch{Tools: builtin.All()}
	chunks, err := chunksOf(d.Run(t.Context(), session.Session{}, []session.Call{{ID: "c", Name: "read_workspace_file", Arguments: `{"path":"x"}`}}))
	if err != nil || !strings.Contains(chunks[0].Text(), "not placed on a sandbox") {
		t.Errorf("%s, %v", chunks[0].Text(), err)
	}
}

func ExampleReadOnly() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600)
	sb, _ := local.Open(context.Background(), dir, nil)
	defer sb.Close()
	d := tool.Dispatch{Tools: builtin.ReadOnly()}
	results, err := d.Run(context.Background(), session.Session{}.To(sb), []session.Call{{ID: "1", Name: "read_workspace_file", Arguments: `{"path":"a.txt"}`}})
	fmt.Println(results[0].Chunk.Text(), err)
	// Output: {"data":"hello"} <nil>
}

func chunksOf(done []tool.Done, err error) ([]session.Chunk, error) {
	var out []session.Chunk
	for _, d := range done {
		out = append(out, d.Chunk)
	}
	return out, err
}
