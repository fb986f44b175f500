// Package demo implements [llm.Model] with a simulated model. It needs no key and no network, so that a gateway without
// any configuration already answers and shows its features: streaming, progress, tools, choices and errors. It says
// that it is a demo.
//
// An answer is a function of the request alone. The gateway can ask for answers in several forms (plain, or in tags as
// package prompt describes them); form.go translates between these and the form of answer.go.
package demo

import (
	"context"
	"iter"
	"strings"
	"time"

	"parley/core/llm"
	"parley/internal/rest"
)

// wordTime is the pause before each word: 25 words a second.
const wordTime = 40 * time.Millisecond

// Model is a [llm.Model] without state. It is safe for concurrent use.
type Model struct{}

var _ llm.Model = (*Model)(nil)

// New returns a Model.
func New() *Model { return &Model{} }

// Generate implements [llm.Model].
func (*Model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		talk, f := unfold(req)
		r := answerTo(talk).inTags(f)
		for _, c := range r.chunks() {
			if err := rest.For(ctx, wordTime); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			if !yield(c, nil) {
				return
			}
		}
		if r.failure != nil {
			yield(llm.Chunk{}, r.failure)
		}
	}
}

// reply is an answer: a text, followed by at most one call, or by a failure.
type reply struct {
	text    string
	call    *llm.ToolCall
	failure *llm.Failure
}

// chunks splits r into words, and its call into pieces, as real models stream them.
func (r reply) chunks() (chunks []llm.Chunk) {
	for _, word := range strings.SplitAfter(r.text, " ") {
		if word != "" {
			chunks = append(chunks, llm.Chunk{Text: word})
		}
	}
	switch {
	case r.failure != nil:
		return chunks
	case r.call == nil:
		return append(chunks, llm.Chunk{Finish: llm.FinishStop})
	}
	parameters := string(r.call.Parameters)
	half := len(parameters) / 2
	return append(chunks,
		llm.Chunk{Call: &llm.CallDelta{ID: r.call.ID, Name: r.call.Name}},
		llm.Chunk{Call: &llm.CallDelta{Parameters: parameters[:half]}},
		llm.Chunk{Call: &llm.CallDelta{Parameters: parameters[half:]}},
		llm.Chunk{Finish: llm.FinishCalls})
}
