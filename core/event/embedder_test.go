package event_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"parley/core/event"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/require"
)

type brokenEmbedder struct{}

func (brokenEmbedder) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New("down")
}

// Each request for embeddings has an event for its start, and one for its end.
func TestEmbeddingEvents(t *testing.T) {
	var names []string
	emit := func(e event.Event) {
		if failed, ok := e.(event.EmbeddingFailed); ok && (failed.Err != "down" || failed.Texts != 2) {
			t.Errorf("the event is %+v", failed)
		}
		if _, ok := e.(event.ModelUsed); ok {
			return
		}
		names = append(names, event.EventName(e))
	}
	with := func(e llm.Embedder) llm.Embedder {
		return event.Models(llm.Models{Embedder: e}, quota.Tariffs{}, emit).Embedder
	}
	require.Value(with(fakeModels{}).Embed(t.Context(), []string{"a"}))(t)
	if _, err := with(brokenEmbedder{}).Embed(t.Context(), []string{"a", "b"}); err == nil {
		t.Error("the observed embedder returned nil; want the error of the embedder")
	}
	const start = "EMBEDDING_GENERATION_REQUESTED"
	if want := []string{start, "EMBEDDING_GENERATION_COMPLETED", start, "EMBEDDING_GENERATION_FAILED"}; !slices.Equal(names, want) {
		t.Errorf("the events are %q; want %q", names, want)
	}
}
