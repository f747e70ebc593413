package evidence_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/openrath-go/rath/evidence"
	"github.com/openrath-go/rath/session"
)

// secretShapes have one shape and more for every rule. The number in each secret tells
// which one leaked; they are put together here so that nobody takes this file for a leak.
var secretShapes = map[string]struct{ text, secret string }{
	"private key":   {"-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----", "MIIEzq%06d"},
	"jwt":           {"%s", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0.zq%06d"},
	"anthropic":     {"%s", "sk-" + "ant-api03-zq%06d"},
	"openai":        {"%s", "sk-" + "proj-abcdefghijklmnozq%06d"},
	"github":        {"%s", "ghp_" + "0123456789abcdefghijABCDEFGHzq%06d"},
	"github, new":   {"%s", "github_pat_" + "11ABCDEFG0abcdefghijkl_zq%06d"},
	"gitlab":        {"%s", "glpat-" + "abcdefghijklmzq%06d"},
	"aws":           {"%s", "AKIA" + "IOSFODNNZQ%06d"},
	"slack":         {"%s", "xoxb-" + "123456789012-zq%06d"},
	"slack hook":    {"https://hooks.slack.com/services/%s", "T00000000/" + "B00000000/XXXXXXXXzq%06d"},
	"google":        {"%s", "AIza" + "SyA-0123456789abcdefghijklmnzq%06d"},
	"stripe":        {"%s", "sk_" + "live_0123456789zq%06d"},
	"hugging face":  {"%s", "hf_" + "abcdefghijklmnopqrszq%06d"},
	"npm":           {"%s", "npm_" + "0123456789abcdefghijABCDEFGHIJzq%06d"},
	"url password":  {"postgres://app:%s@db:5432/x", "zq%06d"},
	"bearer":        {"Bearer %s", "0123456789abcdzq%06d"},
	"authorization": {"Authorization: Basic %s", "zq%06d"},
	"named":         {"PASSWORD=%s", "zq%06d"},
	"in the middle": {"DB_PASSWORD_PROD=%s", "zq%06d"},
	"in camel case": {"dbPasswordProd: %s", "zq%06d"},
	"quoted":        {`"password": "%s"`, "zq%06d"},
	"short":         {"pwd=%s", "z%04d"},
}

var secretPlaces = map[string]string{
	"plain": "a %s b", "alone": "%s", "start of line": "a\n%s b\nc", "end of line": "a %s\nb",
	"after a tab": "a\t%s", "after a return": "a\r\n%s\r\n", "quoted": `a "%s" b`, "in color": "a \x1b[31m%s\x1b[0m b", "in a path": `C:\new\%s`,
}

// numbered are the ends of the secrets.
var numbered = regexp.MustCompile(`(?:zq|ZQ|z)(\d{4,6})`)

func quoteJSON(t *testing.T, name, s string) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{name: s, "exit_code": 0})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestLeaks hides secrets of every shape in every place of every text that a session has.
func TestLeaks(t *testing.T) {
	var chunks []session.Chunk
	var extras []session.Extra
	var hidden []string // where, by number
	put := func(where, place, shape string, wrap func(string) string) string {
		s := secretShapes[shape]
		secret := fmt.Sprintf(s.secret, len(hidden))
		hidden = append(hidden, fmt.Sprintf("%s, %s, %s", where, place, shape))
		return wrap(fmt.Sprintf(secretPlaces[place], fmt.Sprintf(s.text, secret)))
	}
	plain := func(s string) string { return s }
	inJSON := func(s string) string { return quoteJSON(t, "output", s) }
	inBoth := func(s string) string { return inJSON(inJSON(s)) }
	for place := range secretPlaces {
		for shape := range secretShapes {
			call := session.Call{ID: fmt.Sprint("c", len(hidden)), Name: "shell"}
			call.Arguments = put("arguments", place, shape, inJSON)
			answer := session.Answer{CallID: call.ID, Tool: call.Name, Outcome: session.OK}
			chunks = append(chunks,
				session.User(session.Text(put("text", place, shape, plain)), session.Text(put("cut JSON", place, shape, func(s string) string { return strings.TrimSuffix(inJSON(s), "}") }))),
				session.Assistant([]session.Part{session.Text(put("JSON twice", place, shape, inBoth))}, call),
				session.ToolResult(answer, session.Text(put("result", place, shape, inJSON))),
			)
			extras = append(extras,
				session.Extra{Key: "note", Value: put("note", place, shape, inJSON)},
				session.Extra{Key: "openrath.file", Value: put("file", place, shape, inBoth)},
			)
		}
	}
	st := openStore(t)
	s := session.Restore(session.Record{
		ID: idOf(1), Content: session.Transcript{}.Append(chunks...), Lineage: session.Lineage{Op: session.OpLeaf, Extras: extras},
	})
	if err := st.PutSessions(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	d := collect(t, st, s.ID(), nil)
	for format := range formats {
		data := write(t, d, format)
		if _, err := evidence.Verify(data); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		data = withoutEmbedded(data)
		for _, m := range numbered.FindAllSubmatch(data, -1) {
			n, _ := strconv.Atoi(string(m[1]))
			t.Errorf("%s: %s: %s", format, hidden[n], m[0])
		}
		if format != "json" && bytes.Contains(data, []byte("openrath.file")) {
			t.Errorf("%s shows what is not for people", format)
		}
	}
}

// withoutEmbedded cuts the JSON dossier, which has formats of its own, out of a page.
func withoutEmbedded(data []byte) []byte {
	for _, begin := range []string{"\n<!-- rath dossier, base64\n", `href="data:application/json;base64,`} {
		if before, after, ok := bytes.Cut(data, []byte(begin)); ok {
			end := bytes.IndexAny(after, `"-`)
			return append(bytes.Clone(before), after[end:]...)
		}
	}
	return data
}
