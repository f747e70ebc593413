package memory

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/hashing"
	"github.com/openrath-go/rath/memory/local"
)

func TestTune(t *testing.T) {
	if os.Getenv("TUNE") == "" {
		t.Skip()
	}
	answers = 100
	for _, c := range []corpus{debian(t, 3000), fixture(t, "chats", "chats.jsonl"), fixture(t, "mixed", "mixed.jsonl")} {
		b := newTable(c, 300)
		for _, e := range []driver.Embedder{hashing.New(nil), openWink(t, c)} {
			s := fill(t, c, &local.Options{Embedder: e, Stem: true})
			w, m := ask(t, s, driver.MatchWords), ask(t, s, driver.MatchMeaning)
			wl, ml := map[string][]int{}, map[string][]int{}
			for _, q := range b.queries {
				wl[q.Text], ml[q.Text] = w(q.Text), m(q.Text)
			}
			for _, weight := range []float64{0, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 3} {
				b.show(fmt.Sprintf("%s %v", e, weight), func(q string) []int {
					sc := map[int]float64{}
					for i, d := range wl[q] {
						sc[d] += 1 / float64(61+i)
					}
					for i, d := range ml[q] {
						sc[d] += weight / float64(61+i)
					}
					var ds []int
					for d := range sc {
						ds = append(ds, d)
					}
					slices.SortFunc(ds, func(x, y int) int { return cmp.Or(cmp.Compare(sc[y], sc[x]), cmp.Compare(x, y)) })
					return ds[:min(10, len(ds))]
				})
			}
		}
	}
}
