package recall

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"parley/core/llm"
)

// remembered is the number of questions in the cache of vectors.
const remembered = 16

// Asker embeds questions. Several identical questions at about the same time are embedded once. After a failure it
// pauses, and questions are answered by words meanwhile, so that an embedder that hangs costs one turn a few seconds,
// not each. The nil Asker has no vectors. Safe for concurrent use.
type Asker struct {
	embedder llm.Embedder
	log      *slog.Logger

	// mu guards the fields below. It is not held during a request.
	mu      sync.Mutex
	rests   time.Time
	pending []*asked // the oldest first
}

// asked is a question with its vector.
type asked struct {
	question string
	done     chan struct{} // closed when vector is set
	vector   []float32
}

// NewAsker returns an Asker; nil without an embedder.
func NewAsker(embedder llm.Embedder, log *slog.Logger) *Asker {
	if embedder == nil {
		return nil
	}
	return &Asker{embedder: embedder, log: log}
}

// Vector returns the vector of a question; nil if there is none within the time limit of a question. If the same
// question is being embedded for another caller, it waits for that result.
func (a *Asker) Vector(ctx context.Context, question string) []float32 {
	if a == nil || strings.TrimSpace(question) == "" {
		return nil
	}
	q, mine := a.find(question)
	if q == nil {
		return nil
	}
	if mine {
		q.vector = a.embed(ctx, question)
		// A failure is not stored with the question, only with the pause.
		if q.vector == nil {
			a.forget(q)
		}
		close(q.done)
		return q.vector
	}
	select {
	case <-q.done:
		return q.vector
	case <-ctx.Done():
		return nil
	}
}

// find returns the entry of a question, and whether the caller has to embed it; nil during a pause. A caller that has
// to embed it must close done.
func (a *Asker) find(question string) (q *asked, mine bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.pending {
		if q.question == question {
			return q, false
		}
	}
	if time.Now().Before(a.rests) {
		return nil, false
	}
	q = &asked{question: question, done: make(chan struct{})}
	if a.pending = append(a.pending, q); len(a.pending) > remembered {
		a.pending = a.pending[1:]
	}
	return q, true
}

// forget removes an entry.
func (a *Asker) forget(q *asked) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, other := range a.pending {
		if other == q {
			a.pending = append(a.pending[:i:i], a.pending[i+1:]...)
			return
		}
	}
}

// embed makes the request. The end of the caller's own context is not the embedder's failure.
func (a *Asker) embed(ctx context.Context, question string) []float32 {
	limited, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	vectors, err := Embed(limited, a.embedder, []string{question})
	if err == nil {
		return vectors[0]
	}
	if ctx.Err() == nil {
		a.mu.Lock()
		a.rests = time.Now().Add(questionRest)
		a.mu.Unlock()
		a.log.Warn("search falls back to words: the question's embedding failed", "err", err)
	}
	return nil
}
