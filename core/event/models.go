package event

import (
	"context"
	"iter"
	"slices"
	"time"

	"parley/core/llm"
	"parley/core/text"
)

// The purposes of models, as [ModelUsed] names them. A purpose without a model of its own uses that of [ForChat].
const (
	ForChat          = "chat"
	ForShort         = "small"
	ForVision        = "vision"
	ForTranscription = "transcription"
	ForImages        = "image"
	ForEmbedding     = "embedding"
)

type runKey struct{}

// WithRun returns a context that assigns calls of models to a run.
func WithRun(ctx context.Context, run RunInfo) context.Context {
	return context.WithValue(ctx, runKey{}, run)
}

// Models returns models whose calls emit [ModelUsed]. emit must be safe for concurrent use.
func Models(of llm.Models, emit func(Event)) llm.Models {
	calls := func(purpose string) call { return call{emit, purpose} }
	wrap := func(m llm.Model, purpose string) llm.Model {
		if m == nil {
			return nil
		}
		return observedModel{m, calls(purpose)}
	}
	of.Large, of.Small, of.Vision = wrap(of.Large, ForChat), wrap(of.Small, ForShort), wrap(of.Vision, ForVision)
	of.Chat = slices.Clone(of.Chat)
	for i, named := range of.Chat {
		of.Chat[i].Model = wrap(named.Model, ForChat)
	}
	if of.Transcriber != nil {
		of.Transcriber = observedTranscriber{of.Transcriber, calls(ForTranscription)}
	}
	if of.ImageGenerator != nil {
		of.ImageGenerator = observedImageGenerator{of.ImageGenerator, calls(ForImages)}
	}
	if of.Embedder != nil {
		of.Embedder = observedEmbedder{of.Embedder, calls(ForEmbedding)}
	}
	return of
}

// call emits the event of one call of a model, also after an error.
type call struct {
	emit    func(Event)
	purpose string
}

// ended emits the event of a call that began at a time. Without a reported usage, it was estimated.
func (c call) ended(ctx context.Context, began time.Time, reported *llm.Usage, estimated llm.Usage) {
	run, _ := ctx.Value(runKey{}).(RunInfo)
	e := ModelUsed{RunInfo: run, Purpose: c.purpose, Usage: estimated, Estimated: reported == nil, Took: time.Since(began)}
	if reported != nil {
		e.Usage = *reported
	}
	c.emit(e)
}

type observedModel struct {
	llm.Model
	call call
}

// MaxTokens implements [llm.Bounded].
func (m observedModel) MaxTokens() int {
	if b, ok := m.Model.(llm.Bounded); ok {
		return b.MaxTokens()
	}
	return 0
}

// Generate implements [llm.Model]. A usage that the provider does not report is estimated: an estimate is better than
// none.
func (m observedModel) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		began, written := time.Now(), 0
		var reported *llm.Usage
		defer func() {
			m.call.ended(ctx, began, reported, llm.Usage{Prompt: llm.EstimateTokens(req), Completion: (written + bytesPerToken - 1) / bytesPerToken})
		}()
		for c, err := range m.Model.Generate(ctx, req) {
			written += len(c.Text) + len(c.Reasoning)
			if c.Call != nil {
				written += len(c.Call.Name) + len(c.Call.Parameters)
			}
			if c.Usage != nil && c.Usage.Plausible() {
				reported = c.Usage
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

const bytesPerToken = 4 // of an answer without a reported usage

type observedTranscriber struct {
	llm.Transcriber
	call call
}

// Transcribe implements [llm.Transcriber].
func (t observedTranscriber) Transcribe(ctx context.Context, name, mime string, sound []byte) (said string, err error) {
	began := time.Now()
	defer func() { t.call.ended(ctx, began, nil, llm.Usage{Completion: text.Tokens(said)}) }()
	return t.Transcriber.Transcribe(ctx, name, mime, sound)
}

type observedImageGenerator struct {
	llm.ImageGenerator
	call call
}

// GenerateImage implements [llm.ImageGenerator].
func (g observedImageGenerator) GenerateImage(ctx context.Context, prompt string) (llm.File, error) {
	began := time.Now()
	defer func() { g.call.ended(ctx, began, nil, llm.Usage{Prompt: text.Tokens(prompt)}) }()
	return g.ImageGenerator.GenerateImage(ctx, prompt)
}

type observedEmbedder struct {
	llm.Embedder
	call call
}

// Embed implements [llm.Embedder].
func (e observedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	began := time.Now()
	defer func() { e.call.ended(ctx, began, nil, llm.Usage{Prompt: text.Tokens(texts...)}) }()
	return e.Embedder.Embed(ctx, texts)
}
