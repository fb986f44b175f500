// Package demo is a model without a model: it needs no key and no network, says so, and shows what the gateway can do.
// What it answers follows from the request alone, in the form that is asked for.
package demo

import (
	"context"
	"iter"
	"strings"
	"time"

	"parley/core"
)

// wordTime is the pause before each word: 25 of them a second.
const wordTime = 40 * time.Millisecond

// Model is a [core.Model]. It is safe for concurrent use.
type Model struct{}

var _ core.Model = (*Model)(nil)

// New makes a Model.
func New() *Model { return &Model{} }

// Generate implements [core.Model].
func (*Model) Generate(ctx context.Context, req core.Request) iter.Seq2[core.Chunk, error] {
	return func(yield func(core.Chunk, error) bool) {
		talk, f := unfold(req)
		r := answerTo(talk).inTags(f)
		for _, c := range r.chunks() {
			if err := pause(ctx); err != nil {
				yield(core.Chunk{}, err)
				return
			}
			if !yield(c, nil) {
				return
			}
		}
		if r.failure != nil {
			yield(core.Chunk{}, r.failure)
		}
	}
}

// pause waits for the time of one word, or returns why there is no more time.
func pause(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(wordTime)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reply is what the model says to a request: a text, then at most one call; or a failure in place of its end.
type reply struct {
	text    string
	call    *core.ToolCall
	failure *core.Failure
}

// chunks cuts r into words.
func (r reply) chunks() (chunks []core.Chunk) {
	for _, word := range strings.SplitAfter(r.text, " ") {
		if word != "" {
			chunks = append(chunks, core.Chunk{Text: word})
		}
	}
	switch {
	case r.failure != nil:
		return chunks
	case r.call == nil:
		return append(chunks, core.Chunk{Finish: core.FinishStop})
	}
	parameters := string(r.call.Parameters)
	half := len(parameters) / 2
	return append(chunks,
		core.Chunk{Call: &core.CallDelta{ID: r.call.ID, Name: r.call.Name}},
		core.Chunk{Call: &core.CallDelta{Parameters: parameters[:half]}},
		core.Chunk{Call: &core.CallDelta{Parameters: parameters[half:]}},
		core.Chunk{Finish: core.FinishCalls})
}
