package quota

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
	"unicode/utf8"

	"parley/core/llm"
	"parley/core/text"
	"parley/internal/sound"
)

// Tokens to reserve while the actual usage is unknown.
const (
	replyTokens   = 1000 // tokens that the provider may have generated after an interruption
	stepTokens    = 4000 // reserved for an answer without a maximum, at first and for each extension
	leastTokens   = 256  // the minimum for starting or continuing an answer
	paintTokens   = 4000 // of a generated image
	bytesPerToken = 3    // of an answer without a reported usage
	soundTokens   = 5    // of a second of audio
	// bytes of a second of audio of unknown length, if that costs nothing
	soundPerSecond = 2000
	settleTime     = 5 * time.Second
)

// Models wraps models so that their calls are charged. It is called once, before the meter is used.
func (m *Meter) Models(of llm.Models, t Tariffs) llm.Models {
	if m == nil {
		return of
	}
	wrap := func(model llm.Model, t Tariff, answers bool) llm.Model {
		if model == nil {
			return nil
		}
		return meteredModel{model, m, t, answers}
	}
	m.chat = t.Chat
	first := t.Chat[of.Answering()[0].Name]
	of.Large, of.Small, of.Vision = wrap(of.Large, first, true), wrap(of.Small, t.Small, false), wrap(of.Vision, t.Vision, false)
	of.Chat = slices.Clone(of.Chat)
	for i, named := range of.Chat {
		of.Chat[i].Model = wrap(named.Model, t.Chat[named.Name], true)
	}
	if of.Transcriber != nil {
		of.Transcriber = meteredTranscriber{of.Transcriber, m, t.Transcription}
	}
	if of.ImageGenerator != nil {
		of.ImageGenerator = meteredImageGenerator{of.ImageGenerator, m, t.Image}
	}
	if of.Speaker != nil {
		of.Speaker = meteredSpeaker{of.Speaker, m, t.Speech}
	}
	if of.Embedder != nil {
		of.Embedder = meteredEmbedder{of.Embedder, m, t.Embedding}
	}
	return of
}

type meteredModel struct {
	llm.Model
	meter   *Meter
	tariff  Tariff
	answers bool // the model is one that answers
}

// MaxTokens implements [llm.Bounded].
func (g meteredModel) MaxTokens() int { return maxTokens(g.Model) }

// Generate implements [llm.Model]. The answer ends with a [*LimitError] when a limit is reached.
func (g meteredModel) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		b, err := g.meter.open(ctx, g.tariff, llm.EstimateTokens(req), least(maxTokens(g.Model), req.MaxTokens))
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		b.held, b.answers = b.payer.held.take(), g.answers
		defer b.settle(ctx)
		req.MaxTokens = b.most
		for c, err := range g.Model.Generate(ctx, req) {
			if c.Usage != nil && !c.Usage.Plausible() { // it would return tokens, or overflow sums
				c.Usage, b.ended = nil, true
			}
			b.take(c, err)
			if !yield(c, err) {
				return
			}
			if err := b.extend(ctx); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
		}
		b.whole = !b.failed && ctx.Err() == nil
	}
}

func maxTokens(m llm.Model) int {
	if b, ok := m.(llm.Bounded); ok {
		return max(0, b.MaxTokens())
	}
	return 0
}

// least returns the smaller of two limits, where 0 means none.
func least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// metered makes a call with a fixed cost, reserved before it, and returned if the provider refuses it. It fails with a
// [*LimitError], and with the error of call.
func metered[T any](ctx context.Context, m *Meter, t Tariff, tokens int, usd USD, call func() (T, error)) (T, error) {
	b, err := m.reserve(ctx, t, Reservation{Least: tokens, Most: tokens, Included: tokens, Base: usd})
	if err != nil {
		var none T
		return none, err
	}
	b.money = usd // also without a reservation
	got, err := call()
	var f *llm.Failure
	b.flat, b.refused = true, errors.As(err, &f) && f.Kind.Unpaid()
	b.settle(ctx)
	return got, err
}

type meteredTranscriber struct {
	llm.Transcriber
	meter  *Meter
	tariff Tariff
}

// Transcribe implements [llm.Transcriber]. It refuses sound of unknown length if its length is paid or limited: see
// [sound.Length] for the errors.
func (t meteredTranscriber) Transcribe(ctx context.Context, name, mime string, data []byte) (string, error) {
	length, err := sound.Length(data)
	switch {
	case err != nil && (t.meter.limited() || t.tariff.Price.Hour > 0):
		return "", err
	case err != nil:
		length = time.Duration(len(data)) * time.Second / soundPerSecond
	}
	tokens := int(length * soundTokens / time.Second)
	return metered(ctx, t.meter, t.tariff, tokens, t.tariff.Price.Sound(length), func() (string, error) {
		return t.Transcriber.Transcribe(ctx, name, mime, data)
	})
}

type meteredImageGenerator struct {
	llm.ImageGenerator
	meter  *Meter
	tariff Tariff
}

// GenerateImage implements [llm.ImageGenerator].
func (p meteredImageGenerator) GenerateImage(ctx context.Context, prompt string) (llm.File, error) {
	return metered(ctx, p.meter, p.tariff, text.Tokens(prompt)+paintTokens, p.tariff.Price.Image, func() (llm.File, error) {
		return p.ImageGenerator.GenerateImage(ctx, prompt)
	})
}

type meteredSpeaker struct {
	llm.Speaker
	meter  *Meter
	tariff Tariff
}

// Speak implements [llm.Speaker].
func (p meteredSpeaker) Speak(ctx context.Context, text, voice string) (llm.File, error) {
	length := SpeechLength(text)
	return metered(ctx, p.meter, p.tariff, int(length*soundTokens/time.Second), p.tariff.Price.Sound(length), func() (llm.File, error) {
		return p.Speaker.Speak(ctx, text, voice)
	})
}

// SpeechLength returns about how long it takes to speak text.
func SpeechLength(text string) time.Duration {
	const perSecond = 12 // characters
	return time.Duration(utf8.RuneCountInString(text)) * time.Second / perSecond
}

type meteredEmbedder struct {
	llm.Embedder
	meter  *Meter
	tariff Tariff
}

// Embed implements [llm.Embedder].
func (e meteredEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	n := 0
	for _, t := range texts {
		n += text.Tokens(t)
	}
	return metered(ctx, e.meter, e.tariff, n, e.tariff.Price.Input.Of(n), func() ([][]float32, error) { return e.Embedder.Embed(ctx, texts) })
}
