package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// complaints is a [slog.Handler] that writes warnings the way the command writes errors.
type complaints struct {
	w     io.Writer
	attrs []slog.Attr
}

func (c complaints) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (c complaints) WithAttrs(attrs []slog.Attr) slog.Handler {
	return complaints{c.w, append(c.attrs[:len(c.attrs):len(c.attrs)], attrs...)}
}

func (c complaints) WithGroup(string) slog.Handler { return c }

func (c complaints) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	add := func(a slog.Attr) bool {
		if a.Key != "stack" {
			fmt.Fprintf(&b, "; %s: %s", a.Key, oneLine(a.Value.String(), 300))
		}
		return true
	}
	for _, a := range c.attrs {
		add(a)
	}
	r.Attrs(add)
	_, err := fmt.Fprintf(c.w, "warning: %s%s\n", printable(r.Message), printable(b.String()))
	return err
}
