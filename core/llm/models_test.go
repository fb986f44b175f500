package llm

import (
	"context"
	"iter"
	"testing"
)

type named string

func (named) Generate(context.Context, Request) iter.Seq2[Chunk, error] { return nil }

// Short questions go to the small model, else to the large one, unless that is an agent.
func TestSmallOrLarge(t *testing.T) {
	large, small := named("large"), named("small")
	for want, m := range map[Model]Models{
		large: {Large: large}, small: {Large: large, LargeAgent: true, Small: small}, nil: {Large: large, LargeAgent: true},
	} {
		if got := m.SmallOrLarge(); got != want {
			t.Errorf("%+v: %v; want %v", m, got, want)
		}
	}
}
