package quota

import (
	"context"
	"fmt"
	"time"

	"parley/core/llm"
)

// reservation is what one call takes.
type reservation struct {
	meter    *Meter
	payer    spender
	day      time.Time // on which it was reserved
	reserved int       // tokens, of the prompt and the answer
	prompt   int       // of these, an estimate
	most     int       // tokens that the call may write; 0 leaves it to the model
	said     int       // bytes of the answer
	chunks   int       // in which these came
	alive    int       // signs of life that are not for people, such as thoughts
	usage    *llm.Usage
	ended    bool // it has come to its end: what follows costs nothing more
	whole    bool // nothing cut it off
	failed   bool
	flat     bool // no answer is written: what was reserved is what it costs
	refused  bool // a flat call was not carried out
}

// open reserves what an answer of at most so many tokens may need, or without a maximum, its first step. Where less is left, it
// may only write that much.
func (m *Meter) open(ctx context.Context, prompt, most int) (*reservation, error) {
	want := most
	if most == 0 {
		want = stepTokens
	}
	b, err := m.reserve(ctx, prompt+min(want, leastTokens), prompt+want)
	if err != nil {
		return nil, err
	}
	b.prompt, b.most = prompt, most
	if left := b.reserved - prompt; left < want {
		b.most = left
	}
	return b, nil
}

// reserve takes tokens from the limits: as many as most says, or as are left, but at least so many as least says; or it says
// which limit forbids that.
func (m *Meter) reserve(ctx context.Context, least, most int) (*reservation, error) {
	if err := m.CountMessage(ctx); err != nil {
		return nil, err
	}
	b := &reservation{meter: m, payer: spenderOf(ctx), day: m.now()}
	return b, b.add(ctx, least, most)
}

func (b *reservation) add(ctx context.Context, least, most int) error {
	got, over, err := b.meter.ledger.Reserve(ctx, date(b.day), least, most, b.meter.charges(b.payer, Cost{})...)
	if err := b.meter.refusal(b.payer, b.day, over, err); err != nil {
		return err
	}
	b.reserved += got
	return nil
}

func (b *reservation) take(c llm.Chunk, err error) {
	if n := len(c.Text); n > 0 {
		b.said += n
		b.chunks++
	}
	if c.Call != nil {
		b.said += len(c.Call.Name) + len(c.Call.Parameters)
		b.chunks++
	}
	if c.Alive {
		b.alive++
	}
	if c.Usage != nil {
		b.usage = c.Usage
	}
	b.ended = b.ended || c.Finish != "" || c.Usage != nil || err != nil
	b.failed = err != nil
}

// extend reserves more while the answer goes on beyond what is reserved. A provider that was given a maximum is trusted to keep
// it, until what came is twice as much: an estimate is no proof.
func (b *reservation) extend(ctx context.Context) error {
	written := max(b.said/bytesPerToken, b.chunks) + b.alive
	if b.most > 0 {
		written /= 2
	}
	if b.ended || written < b.reserved-b.prompt {
		return nil
	}
	if err := b.add(ctx, leastTokens, stepTokens); err != nil {
		return fmt.Errorf("continue an answer of %d tokens: %w", written, err)
	}
	return nil
}

// cost is what the call took. What the provider reports counts; without that it is estimated. Of an answer that was cut off
// more may have been made than came: as much as was reserved, but not much more than came.
func (b *reservation) cost() int {
	said := b.said/bytesPerToken + b.alive
	switch {
	case b.refused:
		return 0
	case b.flat:
		return b.reserved
	case b.usage != nil:
		return b.usage.Prompt + b.usage.Completion
	case b.whole, b.failed && said == 0: // who refuses has read at most
		return b.prompt + said
	}
	return b.prompt + max(said, min(b.reserved-b.prompt, said+replyTokens))
}

// settle corrects what was reserved, also where ctx has ended. If that can't be stored, the reservation stays.
func (b *reservation) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	more := b.cost() - b.reserved
	if more == 0 {
		return
	}
	charges := b.meter.charges(b.payer, Cost{Tokens: more})
	for i := range charges {
		charges[i].Max = Cost{} // it is spent already
	}
	if _, err := b.meter.ledger.Spend(ctx, date(b.day), charges...); err != nil {
		b.meter.log.Error("the usage of a model call could not be recorded; its full reservation is charged", "err", err)
	}
}
