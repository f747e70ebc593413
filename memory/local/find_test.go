package local

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openrath-go/rath/memory/driver"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func openTest(t *testing.T, o *Options) *database {
	t.Helper()
	d, err := open(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func put(t *testing.T, d *database, notes ...driver.Note) {
	t.Helper()
	if _, err := d.Put(t.Context(), driver.Replace, notes...); err != nil {
		t.Fatal(err)
	}
}

// found gives the last segments of what a query finds.
func found(t *testing.T, d *database, q driver.Query) (names []string) {
	t.Helper()
	f, err := d.Find(t.Context(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	for _, h := range f.Hits {
		names = append(names, h.URI.Base())
	}
	return names
}

func note(name, text string) driver.Note {
	return driver.Note{URI: driver.Root.Join("user", "memories", name), Text: text, Time: noon}
}

func TestFindWords(t *testing.T) {
	d := openTest(t, nil)
	put(t, d,
		note("go", "The runtime is written in Go, release v1.26.0, with parse_query and HTTPServer."),
		note("tea", "The user drinks green tea in the morning, and never coffee."),
		note("cafe", "Die Größe des Cafés in Zürich; naïve résumé."),
		note("chinese", "用户喜欢在北京喝绿茶，数据库是PostgreSQL。"),
		note("wide", "ＦＵＬＬ ｗｉｄｔｈ letters"),
		note("korean", "서울에서 커피를 마신다"),
	)
	for query, want := range map[string][]string{
		"green tea":                      {"tea"},
		"go runtime":                     {"go"},
		"GREEN":                          {"tea"},
		"cafés grösse":                   {"cafe"},
		"parse_query":                    {"go"},
		"query":                          {"go"},
		"server":                         {"go"},
		"httpserver":                     {"go"},
		"1.26":                           {"go"},
		"v1.26.0":                        {"go"},
		"绿茶":                             {"chinese"},
		"数据库":                            {"chinese"},
		"茶":                              {"chinese"},
		"库":                              {"chinese"},
		"postgresql":                     {"chinese"},
		"full width":                     {"wide"},
		"커피":                             {"korean"},
		"morn*":                          {"tea"},
		"cafe":                           nil,
		"ＣＡＦÉＳ":                          {"cafe"},
		"morn":                           nil,
		`"green tea"`:                    {"tea"},
		`"tea green"`:                    nil,
		`"tea" zzz`:                      {"tea"},
		`"数据库是"`:                         {"chinese"},
		`"是数据库"`:                         nil,
		`"tea in the`:                    {"tea"},
		"nothing-of-this-kind":           nil,
		`a" OR b* AND NOT (x: ^y NEAR("`: nil,
		"user":                           {"tea"},
	} {
		if diff := cmp.Diff(want, found(t, d, driver.Query{Text: query})); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
}

func TestFindNewestWithoutWords(t *testing.T) {
	d := openTest(t, nil)
	for i := range 5 {
		n := note(fmt.Sprint(i), "text")
		n.Time = noon.Add(time.Duration(i) * time.Hour)
		put(t, d, n)
	}
	if diff := cmp.Diff([]string{"4", "3"}, found(t, d, driver.Query{Text: " ?! ", Limit: 2})); diff != "" {
		t.Error(diff)
	}
}

func TestFindFilters(t *testing.T) {
	d := openTest(t, nil)
	var notes []driver.Note
	for i := range 2000 {
		n := note(fmt.Sprintf("many/%d", i), "common words here "+strings.Repeat("common ", i%7))
		notes = append(notes, n)
	}
	a := note("few/a", "one common word among very many others that make this a long note indeed")
	a.Meta, a.Trust = map[string]string{"k\"ind": "a'b"}, driver.TrustTool
	b := note("few/b", "common")
	b.Time, b.Until = noon.Add(-48*time.Hour), noon
	put(t, d, append(notes, a, b)...)
	few := []driver.URI{"memory://user/memories/few"}
	for name, test := range map[string]struct {
		q    driver.Query
		want []string
	}{
		"folder":         {driver.Query{Text: "common", Under: few}, []string{"a"}},
		"note":           {driver.Query{Text: "common", Under: []driver.URI{"memory://user/memories/few/a"}}, []string{"a"}},
		"ended":          {driver.Query{Text: "common", Under: few, Ended: true}, []string{"b", "a"}},
		"metadata":       {driver.Query{Text: "common", Meta: map[string]string{"k\"ind": "a'b"}}, []string{"a"}},
		"other metadata": {driver.Query{Text: "common", Meta: map[string]string{"k\"ind": "a"}}, nil},
		"trust":          {driver.Query{Text: "common", Trust: []driver.Trust{driver.TrustTool, driver.TrustUser}}, []string{"a"}},
		"until":          {driver.Query{Text: "common", Until: noon, Ended: true}, []string{"b"}},
		"since":          {driver.Query{Text: "others", Since: noon}, []string{"a"}},
		"since later":    {driver.Query{Text: "others", Since: noon.Add(1)}, nil},
		"phrase":         {driver.Query{Text: `"common word"`, Under: few}, []string{"a"}},
		"other folder":   {driver.Query{Text: "common", Under: []driver.URI{"memory://user/memories/fe"}}, nil},
	} {
		if diff := cmp.Diff(test.want, found(t, d, test.q)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
