package run

import (
	"iter"
	"slices"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/store"
)

// Past implements [effect.Historian].
func (j *journal) Past(path, kind string) iter.Seq2[effect.Past, error] {
	return func(yield func(effect.Past, error) bool) {
		j.mu.Lock()
		list := slices.Clone(j.record.list)
		j.mu.Unlock()
		for _, x := range list {
			if x.Kind != kind || x.Path != path && path != "" && !strings.HasPrefix(x.Path, path+"/") {
				continue
			}
			past, err := j.past(x)
			if !yield(past, err) || err != nil {
				return
			}
		}
	}
}

func (j *journal) past(x *store.Effect) (past effect.Past, err error) {
	past = effect.Past{Path: x.Path, Name: x.Name, Note: x.Note, Attempts: x.Attempts, Done: x.Done}
	if past.Input, err = store.Unpack(x.Input, j.record.get); err != nil || !x.Done {
		return past, err
	}
	past.Outcome.Error = x.Result.Error
	past.Outcome.Value, err = store.Unpack(x.Result.Value, j.record.get)
	return past, err
}
