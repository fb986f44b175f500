package parley

import (
	"context"
	"time"

	"parley/core/event"
	"parley/core/llm"
)

// observedEmbedder is an embedder that reports its requests to observers.
type observedEmbedder struct {
	llm.Embedder
	emit func(event.Event)
}

// observed returns e with events; a nil e stays nil, as it means that there is none.
func observed(e llm.Embedder, emit func(event.Event)) llm.Embedder {
	if e == nil {
		return nil
	}
	return observedEmbedder{e, emit}
}

// Embed implements [llm.Embedder].
func (o observedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	begun := time.Now()
	o.emit(event.EmbeddingRequested{Texts: len(texts)})
	vectors, err := o.Embedder.Embed(ctx, texts)
	if err != nil {
		o.emit(event.EmbeddingFailed{Texts: len(texts), Duration: time.Since(begun), Err: err.Error()})
	} else {
		o.emit(event.EmbeddingCompleted{Texts: len(texts), Duration: time.Since(begun)})
	}
	return vectors, err
}
