package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
	"unicode"

	"github.com/openrath-go/rath/memory/driver"
)

// Who asks does not wait for a provider that hangs or fails.
const (
	hurry    = 2500 * time.Millisecond // that a query's vector may take
	takeRest = 10 * time.Second        // after that failed: queries are found by words alone meanwhile
)

// vectors asks the provider, and checks what it gives. That it works at all is good news
// for queries, too.
func (x *index) vectors(ctx context.Context, texts []string, within time.Duration) ([][]float32, error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	vectors, err := x.embedder.Embed(limited, texts)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %v: %w", within, context.DeadlineExceeded)
	}
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	for i := 0; err == nil && i < len(vectors); i++ {
		vectors[i], err = unit(vectors[i])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", x.embedder, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.resting = time.Time{}
	return vectors, nil
}

// queryVector is the meaning of a query, or why there is none now.
func (x *index) queryVector(ctx context.Context, text string) ([]float32, error) {
	x.mu.Lock()
	left, last := time.Until(x.resting), x.queryErr
	x.mu.Unlock()
	if left > 0 {
		return nil, fmt.Errorf("%w; it is not asked again for %v", last, left.Round(time.Second))
	}
	vectors, err := x.vectors(ctx, []string{clip(text)}, x.hurry)
	if err == nil {
		return vectors[0], nil
	}
	if ctx.Err() == nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.resting, x.queryErr = time.Now().Add(takeRest), err
	}
	return nil, err
}

// passing reports whether an error has to do with the provider or the way to it, not with
// what it was asked.
func passing(err error) bool {
	var network net.Error
	var retryable interface{ Retryable() bool } // as llm.Error is
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, driver.ErrTransport) ||
		errors.As(err, &network) || errors.As(err, &retryable) && retryable.Retryable()
}

// setTrouble remembers why no vectors are made.
func (x *index) setTrouble(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.err = err
}

func (x *index) trouble() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil {
		return ""
	}
	return " (" + brief(x.err) + ")"
}

// maxError is how much of a provider's error is told, in runes: models read it.
const maxError = 200

// brief is an error in one line.
func brief(err error) string {
	text := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if runes := []rune(text); len(runes) > maxError {
		text = string(runes[:maxError]) + "…"
	}
	return text
}
