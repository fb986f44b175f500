package core

import (
	"context"
	"iter"
	"time"
)

// What is reserved where nobody knows yet, in tokens.
const (
	replyTokens   = 1000 // of an answer
	imageTokens   = 1000 // of a picture that is shown to a model
	paintTokens   = 4000 // of a picture that is painted
	bytesPerToken = 3    // of an answer that nobody has counted
	soundPerToken = 400  // bytes of a recording
	settleTime    = 5 * time.Second
)

// Models are models whose calls are held to the limits.
func (m *Meter) Models(of Models) Models {
	if m == nil {
		return of
	}
	for _, model := range []*Model{&of.Large, &of.Small, &of.Vision} {
		if *model != nil {
			*model = meteredModel{*model, m}
		}
	}
	if of.Transcriber != nil {
		of.Transcriber = meteredTranscriber{of.Transcriber, m}
	}
	if of.Painter != nil {
		of.Painter = meteredPainter{of.Painter, m}
	}
	if of.Embedder != nil {
		of.Embedder = meteredEmbedder{of.Embedder, m}
	}
	return of
}

type meteredModel struct {
	Model
	meter *Meter
}

// Generate implements [Model].
func (g meteredModel) Generate(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		b, err := g.meter.reserve(ctx, cost(req), replyTokens)
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		defer b.settle(ctx)
		for c, err := range g.Model.Generate(ctx, req) {
			b.take(c, err)
			if !yield(c, err) {
				return
			}
		}
		b.whole = !b.failed && ctx.Err() == nil
	}
}

// bill is what one call takes.
type bill struct {
	meter          *Meter
	payer          payer
	day            time.Time // on which it was reserved
	prompt, answer int       // estimates, in tokens
	said           int       // bytes of the answer
	alive          int       // signs of life that are not for people, such as thoughts
	usage          *Usage
	whole          bool // nothing cut it off
	failed         bool
}

// reserve takes what a call may need from the limits, or says which forbids it.
func (m *Meter) reserve(ctx context.Context, prompt, answer int) (*bill, error) {
	b := &bill{meter: m, payer: payerOf(ctx), day: m.now(), prompt: prompt, answer: answer}
	if err := m.message(ctx); err != nil {
		return b, err
	}
	return b, m.spend(ctx, b.payer, b.day, Cost{Tokens: prompt + answer})
}

func (b *bill) take(c Chunk, err error) {
	b.said += len(c.Text)
	if c.Call != nil {
		b.said += len(c.Call.Name) + len(c.Call.Parameters)
	}
	if c.Alive {
		b.alive++
	}
	if c.Usage != nil {
		b.usage = c.Usage
	}
	b.failed = err != nil
}

// cost is what the call took. What the provider reports counts; without that it is estimated, and of an answer that
// was cut off nobody knows how much more was made: then all that was reserved counts.
func (b *bill) cost() int {
	said := b.said/bytesPerToken + b.alive
	switch {
	case b.usage != nil:
		return b.usage.Prompt + b.usage.Completion
	case b.whole, b.failed && said == 0: // who refuses has read at most
		return b.prompt + said
	}
	return b.prompt + max(b.answer, said)
}

// settle corrects what was reserved, also where ctx has ended. If that can't be stored, the reservation stays.
func (b *bill) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	charges := b.meter.charges(b.payer, Cost{Tokens: b.cost() - b.prompt - b.answer})
	for i := range charges {
		charges[i].Max = Cost{} // it is spent already
	}
	if _, err := b.meter.ledger.Spend(ctx, date(b.day), charges...); err != nil {
		b.meter.log.Error("what a model call took could not be settled; what was reserved for it counts", "err", err)
	}
}

type meteredTranscriber struct {
	Transcriber
	meter *Meter
}

// Transcribe implements [Transcriber].
func (t meteredTranscriber) Transcribe(ctx context.Context, name, mime string, sound []byte) (string, error) {
	if _, err := t.meter.reserve(ctx, len(sound)/soundPerToken, 0); err != nil {
		return "", err
	}
	return t.Transcriber.Transcribe(ctx, name, mime, sound)
}

type meteredPainter struct {
	Painter
	meter *Meter
}

// Paint implements [Painter].
func (p meteredPainter) Paint(ctx context.Context, prompt string) (Blob, error) {
	if _, err := p.meter.reserve(ctx, tokens(prompt), paintTokens); err != nil {
		return Blob{}, err
	}
	return p.Painter.Paint(ctx, prompt)
}

type meteredEmbedder struct {
	Embedder
	meter *Meter
}

// Embed implements [Embedder].
func (e meteredEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	n := 0
	for _, t := range texts {
		n += tokens(t)
	}
	if _, err := e.meter.reserve(ctx, n, 0); err != nil {
		return nil, err
	}
	return e.Embedder.Embed(ctx, texts)
}
