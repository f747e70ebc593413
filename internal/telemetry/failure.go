package telemetry

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/openrath-go/rath/llm"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// errorOther is what the conventions call an error that has no name of its own.
const errorOther = "_OTHER"

// errorType names the kind of an error: that of a model, cancelled, timeout, or its Go type.
func errorType(err error) string {
	var failed *llm.Error
	switch {
	case errors.As(err, &failed):
		return string(failed.Kind)
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return string(llm.ErrTimeout)
	}
	name := errorOther
	for ; err != nil; err = errors.Unwrap(err) {
		if t := strings.TrimPrefix(reflect.TypeOf(err).String(), "*"); !strings.HasPrefix(t, "errors.") && !strings.HasPrefix(t, "fmt.") {
			name = t
		}
	}
	return name
}

// fail says on a span that its operation failed, and how. The error's text stays out: it may
// have words of the user's or of a tool's, and the run's record has it.
func fail(span trace.Span, kind string, err error) {
	text := strings.ReplaceAll(kind, "_", " ")
	var failed *llm.Error
	if errors.As(err, &failed) && failed.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", failed.Status)
	}
	span.SetStatus(codes.Error, text)
	span.SetAttributes(keyErrorType.String(kind))
}
