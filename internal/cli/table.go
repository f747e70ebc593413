package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// row is a line of a list: what it is in JSON, and in columns.
type row interface{ cells() []string }

// list writes rows, as JSON lines or as a table under its heads.
func list[T row](a *app, rows []T, heads ...string) error {
	if a.asJSON {
		for _, r := range rows {
			if err := a.writeJSON(r); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	if len(rows) > 0 && len(heads) > 0 {
		fmt.Fprintln(w, strings.Join(heads, "\t"))
	}
	for _, r := range rows {
		cells := r.cells()
		for i := range cells {
			cells[i] = strings.ReplaceAll(prose(cells[i]), "\t", " ")
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t "))
	}
	return w.Flush()
}

// when is a time as the user's clock has it; what is the same whenever it is made, as a
// prompt is, has none.
func when(t time.Time, layout string) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(layout)
}

// span is a duration, as long as it needs to be.
func span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// plural counts things.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// amount is a number of bytes for people.
func amount(n int64) string {
	const unit = 1 << 10
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, i := float64(n)/unit, 0
	for ; value >= unit && i < len(units)-1; i++ {
		value /= unit
	}
	return fmt.Sprintf("%.1f %ciB", value, units[i])
}
