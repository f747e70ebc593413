package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/openrath-go/rath/session"
)

// Report says what [Verify] found.
type Report struct {
	Format  string         `json:"format"` // json, markdown, html
	Seal    session.Digest `json:"seal"`   // the file's, and true
	Subject Subject        `json:"subject"`
	Checked
	// Redacted is how many values were taken out. What they were in is attested, not
	// verified.
	Redacted int `json:"redacted"`
	// Page says that what people read in the file is what this program makes of the
	// records in it. Else another version wrote it, or somebody who sealed it again; the
	// records are verified all the same. It is always true of JSON.
	Page bool `json:"page"`
}

// Verify recomputes everything in a dossier of any of its formats that can be: the seal
// over the file, the digests of contents and transcripts, the hash chains of events, and
// what they say of each other; and that the findings are what follows from the records.
// The error names what is wrong, and where: [*Mismatch], ErrFormat. A report comes with
// it as far as the file could be read.
func Verify(data []byte) (*Report, error) {
	f, err := formatOf(data)
	if err != nil {
		return nil, fmt.Errorf("verify dossier: %w", err)
	}
	v := &verifier{format: f, data: data, report: &Report{Format: f.name}}
	v.check(v.seal(f, data, "the seal"))
	v.read()
	if err := errors.Join(v.problems...); err != nil {
		return v.report, fmt.Errorf("verify dossier: %w", err)
	}
	return v.report, nil
}

type verifier struct {
	format   *format
	data     []byte
	report   *Report
	problems []error
}

func (v *verifier) check(err error) {
	if err != nil {
		v.problems = append(v.problems, err)
	}
}

func (v *verifier) seal(f *format, data []byte, where string) error {
	has, want := f.seal(data)
	if has == want.String() {
		v.report.Seal = want
		return nil
	}
	return &Mismatch{where, fmt.Sprintf("it is %q, and that of the file's bytes is %s", has, want)}
}

// read checks the JSON dossier in the file, and then the page around it.
func (v *verifier) read() {
	data, err := v.format.embedded(v.data)
	if err != nil {
		v.check(err)
		return
	}
	if v.format != formatJSON {
		outer := v.report.Seal
		if f, err := formatOf(data); err != nil || f != formatJSON {
			v.check(fmt.Errorf("%w: what lies in it is not a dossier in JSON", ErrFormat))
			return
		}
		v.check(v.seal(formatJSON, data, "the seal of the JSON dossier in it"))
		v.report.Seal = outer
	}
	d, err := readJSON(data)
	if err != nil {
		v.check(err)
		return
	}
	v.dossier(d)
}

func (v *verifier) dossier(d *Dossier) {
	v.report.Subject = d.Subject
	for _, r := range d.Redactions {
		v.report.Redacted += r.Times
	}
	var err error
	v.report.Checked, err = d.Records.check(d.Redactions)
	v.check(err)
	if err == nil {
		v.check(d.checkFindings())
	}
	v.page(d)
}

// checkFindings compares the findings with what follows from the records.
func (d *Dossier) checkFindings() error {
	want, err := derive(d.Version, d.Subject, &d.Records)
	if err != nil {
		return &Mismatch{"the records", err.Error()}
	}
	has, err := members(d.Findings)
	if err != nil {
		return err
	}
	should, err := members(want)
	if err != nil {
		return err
	}
	names := maps.Clone(has)
	maps.Copy(names, should)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !sameJSON(has[name], should[name]) {
			return &Mismatch{"findings." + name, "it is not what follows from the records"}
		}
	}
	return nil
}

func members(f Findings) (m map[string]json.RawMessage, err error) {
	raw, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(raw, &m)
}

// page compares what people read with what this program would write. Where the seal is
// broken that shows the place.
func (v *verifier) page(d *Dossier) {
	want, err := d.sealed(v.format)
	if err != nil {
		v.check(err)
		return
	}
	v.report.Page = bytes.Equal(v.data, want)
	if !v.report.Page && len(v.problems) > 0 {
		line := v.format.differ(v.data, want)
		v.check(&Mismatch{fmt.Sprintf("line %d", line), "here the file begins not to be what this program makes of the records"})
	}
}

// differ returns the first line in which two files differ, their seals left out.
func (f *format) differ(a, b []byte) int {
	at := len(f.begin) + sealLen
	x, y := bytes.Split(a[at:], []byte("\n")), bytes.Split(b[at:], []byte("\n"))
	first := 1 + bytes.Count(b[:at], []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return first + i
		}
	}
	return first + min(len(x), len(y))
}
