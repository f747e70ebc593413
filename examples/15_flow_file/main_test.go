package flowfile_test

import (
	"fmt"
	"os"

	"github.com/openrath-go/rath/internal/cli"
)

func Example() {
	// The commands of the page, in a home that goes when they are done.
	home, err := os.MkdirTemp("", "rath")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	_ = os.Setenv("OPENRATH_HOME", home)
	cli.Main([]string{"check", "flow.yaml"})
	cli.Main([]string{"summary", "flow.yaml"})
	cli.Main([]string{"run", "-f", "flow.yaml", "Why is the sky blue?"})
	// Output:
	// flow.yaml is good: article runs
	// Flow("flow.yaml", budget: 20000 tokens, 20 calls of models, 5m0s)(
	//   (Entry): Label("article")(
	//     (Workflow): Sequence(
	//       ([0]): Agent("writer", scripted:replies/writer.json)
	//       ([1]): Label("reviews")(
	//         (Workflow): Parallel(
	//           (Branches[0]): Agent("facts", scripted:replies/facts.json)
	//           (Branches[1]): Agent("style", scripted:replies/style.json)
	//         )
	//       )
	//       ([2]): Label("polish")(
	//         (Workflow): Loop(at most 4 rounds, until the last reply matches "^FINAL")(
	//           (Body): Agent("editor", scripted:replies/editor.json)
	//         )
	//       )
	//     )
	//   )
	// )
	//
	// AGENT   MODEL                         TOOLS  MEMORY  STEPS
	// writer  scripted:replies/writer.json  -      -       64
	// facts   scripted:replies/facts.json   -      -       64
	// style   scripted:replies/style.json   -      -       64
	// editor  scripted:replies/editor.json  -      -       64
	//
	// entry   article
	// budget  20000 tokens, 20 calls of models, 5m0s
	// digest  c05bf5f445b7b6f8fbac29ee59671b8d06e11e22b807ceaf4a8283be9b3ce1be
	// FINAL The sky is blue: air scatters blue light the most.
}
