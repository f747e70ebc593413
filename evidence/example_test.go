package evidence_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/openrath-go/rath/evidence"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store/sqlite"
)

// A session is written as one page, and the page is checked without the store.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	st, err := sqlite.Open(ctx, filepath.Join(dir, "rath.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	s := session.FromUser("Which key is it?").Append(session.User(session.Text("API_KEY=not-for-everybody")))
	if err := st.PutSessions(ctx, s); err != nil {
		log.Fatal(err)
	}

	d, err := evidence.Collect(ctx, st, s.ID(), nil)
	if err != nil {
		log.Fatal(err)
	}
	var page bytes.Buffer
	if err := d.WriteHTML(&page); err != nil {
		log.Fatal(err)
	}
	report, err := evidence.Verify(page.Bytes())
	fmt.Println(report.Subject.Kind, report.Contents, report.Redacted, err)

	page.Bytes()[page.Len()/2]++
	_, err = evidence.Verify(page.Bytes())
	fmt.Println(err != nil)
	// Output:
	// session {1 1} 1 <nil>
	// true
}
