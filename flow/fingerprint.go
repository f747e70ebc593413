package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/openrath-go/rath/effect"
)

// Fingerprinter lets a workflow of yours add to its [Fingerprint] what is in no field that
// holds a workflow.
type Fingerprinter interface {
	Fingerprint() string
}

// Fingerprint identifies what a workflow would do, as far as that is data: its tree and,
// of its agents, names, prompts, models, parameters, and the tools with their schemas.
// It is how a run finds the program again that began it. The code of functions is not
// in it: a name or a version in a [Label] can stand for that.
func Fingerprint(w Workflow) string {
	h := sha256.New()
	walk(rootOf(w), nil, func(path []Child, cycle bool) bool {
		w := path[len(path)-1].Workflow
		fmt.Fprintf(h, "%q %T %q %v\n", pathOf(path), w, NameOf(w), cycle)
		if f, ok := w.(interface{ fingerprint(hash.Hash) }); ok && !cycle {
			f.fingerprint(h)
		}
		if f, ok := w.(Fingerprinter); ok && !cycle {
			fmt.Fprintf(h, "%q\n", f.Fingerprint())
		}
		if p, ok := w.(*Parallel); ok && p.Share {
			fmt.Fprintln(h, "share")
		}
		return true
	})
	return hex.EncodeToString(h.Sum(nil))
}

func (a *Agent) fingerprint(h hash.Hash) {
	model := ""
	if a.Model != nil {
		model = a.Model.String()
	}
	params, _ := effect.Encode(a.Params) // numbers and strings: it always encodes
	fmt.Fprintf(h, "%q %q %s %d\n", a.Prompt, model, params, a.maxSteps())
	if a.Memory != nil {
		recall, _ := effect.Encode(a.Recall.Recall) // plain values
		fmt.Fprintf(h, "%q %s %d %v\n", a.Memory, recall, a.Recall.Tokens, a.CommitOnForward)
	}
	if a.Policy != nil {
		fmt.Fprintf(h, "policy %q\n", a.Policy.String())
	}
	if a.Stop != nil {
		fmt.Fprintln(h, "stop")
	}
	if a.Compress != nil {
		fmt.Fprintln(h, a.CompressAt)
	}
	for _, t := range a.Tools {
		fmt.Fprintf(h, "%q %q %q %s %v\n", t.Name, t.Description, t.Schema, t.Class, t.Approval)
		if t.Final {
			fmt.Fprintln(h, "final")
		}
	}
}
