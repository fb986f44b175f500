package event

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"parley/core/llm"
	"parley/core/quota"
	"parley/core/text"
	"parley/internal/sound"
	"parley/internal/trace"
)

// The purposes of models, as [ModelUsed] names them. A purpose without a model of its own uses that of [ForChat].
const (
	ForChat          = "chat"
	ForShort         = "small"
	ForVision        = "vision"
	ForTranscription = "transcription"
	ForImages        = "image"
	ForSpeech        = "speech"
	ForEmbedding     = "embedding"
)

type runKey struct{}

// WithRun returns a context that assigns calls of models, and of programs that take part in its trace, to a run.
func WithRun(ctx context.Context, run RunInfo) context.Context {
	return trace.With(context.WithValue(ctx, runKey{}, run), run.Trace)
}

// Models returns models whose calls emit [ModelUsed], with their names and prices in t. emit must be safe for concurrent use.
func Models(of llm.Models, t quota.Tariffs, emit func(Event)) llm.Models {
	wrap := func(m llm.Model, purpose string, t quota.Tariff) llm.Model {
		if m == nil {
			return nil
		}
		return observedModel{m, observed{emit, purpose, t}}
	}
	first := t.Chat[of.Answering()[0].Name]
	of.Large, of.Small, of.Vision = wrap(of.Large, ForChat, first), wrap(of.Small, ForShort, t.Small), wrap(of.Vision, ForVision, t.Vision)
	of.Chat = slices.Clone(of.Chat)
	for i, named := range of.Chat {
		of.Chat[i].Model = wrap(named.Model, ForChat, t.Chat[named.Name])
	}
	if of.Transcriber != nil {
		of.Transcriber = observedTranscriber{of.Transcriber, observed{emit, ForTranscription, t.Transcription}}
	}
	if of.ImageGenerator != nil {
		of.ImageGenerator = observedImageGenerator{of.ImageGenerator, observed{emit, ForImages, t.Image}}
	}
	if of.Speaker != nil {
		of.Speaker = observedSpeaker{of.Speaker, observed{emit, ForSpeech, t.Speech}}
	}
	if of.Embedder != nil {
		of.Embedder = observedEmbedder{of.Embedder, observed{emit, ForEmbedding, t.Embedding}}
	}
	return of
}

// observed emits the events of the calls of a model.
type observed struct {
	emit    func(Event)
	purpose string
	tariff  quota.Tariff
}

// begin begins a call.
func (o observed) begin(ctx context.Context) *call {
	run, _ := ctx.Value(runKey{}).(RunInfo)
	now := time.Now()
	return &call{observed: o, used: ModelUsed{RunInfo: run, Purpose: o.purpose, Model: o.tariff.Name, Estimated: true, Began: now, Span: run.Trace.At(o.purpose, now)}}
}

// call is one call of a model.
type call struct {
	observed
	used ModelUsed
}

// end emits the event of the call, which ended with err. extra is its cost besides tokens. Calls that the provider does not bill cost
// nothing.
func (c *call) end(ctx context.Context, err error, extra quota.USD) {
	c.used.Took = time.Since(c.used.Began)
	var f *llm.Failure
	switch {
	case errors.As(err, &f):
		c.used.Failure = f.Kind
	case errors.Is(err, llm.ErrStalled), errors.Is(context.Cause(ctx), llm.ErrStalled):
		c.used.Failure = llm.GenerationTimeout
	case err != nil && ctx.Err() == nil:
		c.used.Failure = llm.ProviderIssue
	}
	if !c.used.Failure.Unpaid() {
		c.used.Cost = c.tariff.Price.Of(c.used.Usage) + extra
	}
	c.emit(c.used)
}

type observedModel struct {
	llm.Model
	observed observed
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
		call, written := m.observed.begin(ctx), 0
		var failed error
		defer func() {
			if call.used.Estimated {
				call.used.Usage = llm.Usage{Prompt: llm.EstimateTokens(req), Completion: (written + bytesPerToken - 1) / bytesPerToken}
			}
			call.end(ctx, failed, 0)
		}()
		for c, err := range m.Model.Generate(trace.With(ctx, call.used.Span), req) {
			failed = err
			call.read(c)
			written += len(c.Text) + len(c.Reasoning)
			if c.Call != nil {
				written += len(c.Call.Name) + len(c.Call.Parameters)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// read notes a chunk.
func (c *call) read(chunk llm.Chunk) {
	if c.used.First == 0 && (chunk.Text != "" || chunk.Reasoning != "" || chunk.Call != nil || chunk.Alive) {
		c.used.First = max(time.Since(c.used.Began), 1)
	}
	if chunk.Finish != "" {
		c.used.Finish = chunk.Finish
	}
	if chunk.Usage != nil && chunk.Usage.Plausible() {
		c.used.Usage, c.used.Estimated = *chunk.Usage, false
	}
}

const bytesPerToken = 4 // of an answer without a reported usage

type observedTranscriber struct {
	llm.Transcriber
	observed observed
}

// Transcribe implements [llm.Transcriber].
func (t observedTranscriber) Transcribe(ctx context.Context, name, mime string, data []byte) (said string, err error) {
	call := t.observed.begin(ctx)
	defer func() {
		length, _ := sound.Length(data) // the meter refuses sound of unknown length if it is paid
		call.used.Usage = llm.Usage{Completion: text.Tokens(said)}
		call.end(ctx, err, t.observed.tariff.Price.Sound(length))
	}()
	return t.Transcriber.Transcribe(ctx, name, mime, data)
}

type observedImageGenerator struct {
	llm.ImageGenerator
	observed observed
}

// GenerateImage implements [llm.ImageGenerator].
func (g observedImageGenerator) GenerateImage(ctx context.Context, prompt string) (f llm.File, err error) {
	call := g.observed.begin(ctx)
	call.used.Usage = llm.Usage{Prompt: text.Tokens(prompt)}
	defer func() { call.end(ctx, err, g.observed.tariff.Price.Image) }()
	return g.ImageGenerator.GenerateImage(ctx, prompt)
}

type observedSpeaker struct {
	llm.Speaker
	observed observed
}

// Speak implements [llm.Speaker].
func (s observedSpeaker) Speak(ctx context.Context, said, voice string) (f llm.File, err error) {
	call := s.observed.begin(ctx)
	call.used.Usage = llm.Usage{Prompt: text.Tokens(said)}
	defer func() { call.end(ctx, err, s.observed.tariff.Price.Sound(quota.SpeechLength(said))) }()
	return s.Speaker.Speak(ctx, said, voice)
}

type observedEmbedder struct {
	llm.Embedder
	observed observed
}

// Embed implements [llm.Embedder].
func (e observedEmbedder) Embed(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	call := e.observed.begin(ctx)
	call.used.Usage = llm.Usage{Prompt: text.Tokens(texts...)}
	call.emit(EmbeddingRequested{Texts: len(texts)})
	defer func() {
		call.end(ctx, err, 0)
		if err != nil {
			call.emit(EmbeddingFailed{Texts: len(texts), Duration: call.used.Took, Err: err.Error()})
		} else {
			call.emit(EmbeddingCompleted{Texts: len(texts), Duration: call.used.Took})
		}
	}()
	return e.Embedder.Embed(ctx, texts)
}
