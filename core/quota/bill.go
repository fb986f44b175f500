package quota

import (
	"context"
	"fmt"
	"time"

	"parley/core/llm"
)

// reservation tracks the cost of one call.
type reservation struct {
	meter    *Meter
	payer    spender
	day      time.Time // when it was reserved
	reserved int       // tokens of the prompt and the answer
	prompt   int       // the prompt's part, an estimate
	most     int       // limit of the answer in tokens; 0 for none
	said     int       // bytes of the answer
	chunks   int       // number of chunks of the answer
	alive    int       // number of hidden chunks, such as reasoning
	usage    *llm.Usage
	ended    bool // the call has ended and costs nothing more
	whole    bool // it ended without interruption
	failed   bool
	flat     bool // the cost is fixed: exactly what was reserved
	refused  bool // a call with a fixed cost was refused
}

// open reserves tokens for an answer of at most most tokens, or without a maximum, for its first step. If less is left,
// the answer is limited to that.
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

// reserve takes between least and most tokens from the limits, as many as are left; otherwise it returns which limit is
// reached.
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

// extend reserves more when the answer exceeds the reservation. A provider that was given a maximum is trusted until
// twice as much has arrived, because the count is an estimate.
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

// cost returns the actual cost of the call: the usage reported by the provider, or an estimate. An interrupted answer
// may have been generated further than it was received: up to the reservation, but not much more than was received.
func (b *reservation) cost() int {
	said := b.said/bytesPerToken + b.alive
	switch {
	case b.refused:
		return 0
	case b.flat:
		return b.reserved
	case b.usage != nil:
		return b.usage.Prompt + b.usage.Completion
	case b.whole, b.failed && said == 0: // a refused call costs its prompt at most
		return b.prompt + said
	}
	return b.prompt + max(said, min(b.reserved-b.prompt, said+replyTokens))
}

// settle corrects the reservation, even after ctx has ended. If storing fails, the reservation stays.
func (b *reservation) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	more := b.cost() - b.reserved
	if more == 0 {
		return
	}
	charges := b.meter.charges(b.payer, Cost{Tokens: more})
	for i := range charges {
		charges[i].Max = Cost{} // already spent, so no limit applies
	}
	if _, err := b.meter.ledger.Spend(ctx, date(b.day), charges...); err != nil {
		b.meter.log.Error("the usage of a model call could not be recorded; its full reservation is charged", "err", err)
	}
}
