package llm

import (
	"context"
	"errors"
	"time"
)

// Embedder turns texts into vectors that are near each other where the meanings are. It
// must be safe for concurrent use.
type Embedder interface {
	// Embed returns a vector for each text, in the order of the texts. All that it ever
	// returns have one dimension, finite numbers, and not zeros only; their length is the
	// model's affair. The vectors are the caller's. No texts have no vectors; an empty
	// text is an error, for it means nothing.
	//
	// An error is a *Error where the model or the way to it failed, and ctx's own where
	// that was cancelled. With it come the vectors of the first texts, as far as they
	// were made, so that what was paid for need not be asked again.
	Embed(ctx context.Context, texts []string) ([][]float32, error)

	// String names the model as a URL, "openai:text-embedding-3-small". Vectors of
	// models with different names cannot be compared.
	String() string
}

// RetryEmbedder is an embedder that asks again where [Retry] would, with the same waits,
// and only for the texts that have no vector yet. Attempts count from the last vector
// that came.
type RetryEmbedder struct {
	Embedder      Embedder
	Attempts      int           // in all; 0: 4
	Base          time.Duration // 0: 500 ms
	Max           time.Duration // 0: 30 s
	MaxRetryAfter time.Duration // 0: 1 minute
}

// String names the inner embedder.
func (r *RetryEmbedder) String() string { return r.Embedder.String() }

// Embed asks until every text has a vector or the attempts are used up.
func (r *RetryEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	var vectors [][]float32
	for p := r.patience(); ; {
		got, err := r.Embedder.Embed(ctx, texts[len(vectors):])
		vectors = append(vectors, got...)
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.Retryable() || ctx.Err() != nil {
			return vectors, err
		}
		if len(got) > 0 {
			p = r.patience()
		}
		pause, last := p.next(ctx, e)
		if last != nil {
			return vectors, last
		}
		if wait(ctx, pause) != nil {
			return vectors, AsError(r.String(), ctx.Err())
		}
	}
}

func (r *RetryEmbedder) patience() *patience {
	return newPatience(r.Attempts, r.Base, r.Max, r.MaxRetryAfter)
}
