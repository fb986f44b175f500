package quota

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/llm"
)

// reservation tracks the cost of one call.
type reservation struct {
	meter    *Meter
	tariff   Tariff
	payer    spender
	day      time.Time // when it was reserved
	reserved int       // tokens of the prompt and the answer
	money    USD       // reserved for these tokens
	held     USD       // reserved within the soft limits
	rate     Rate
	prompt   int // the prompt's part, an estimate
	most     int // limit of the answer in tokens; 0 for none
	said     int // bytes of the answer
	chunks   int // number of chunks of the answer
	alive    int // number of hidden chunks, such as reasoning
	usage    *llm.Usage
	ended    bool // the call has ended and costs nothing more
	whole    bool // it ended without interruption
	failed   bool
	flat     bool // the cost is fixed: exactly the reservation
	refused  bool // the provider refused the call, and bills nothing
	answers  bool // the model is one that answers
}

func (b *reservation) add(ctx context.Context, r Reservation) error {
	if !b.meter.limited() {
		b.reserved += r.Most
		return nil
	}
	WaitSettled(ctx) // the rest of earlier calls is available to this one
	reserve := func() (int, string, error) {
		return b.meter.ledger.Reserve(ctx, date(b.day), r, b.meter.charges(b.payer, Cost{})...)
	}
	got, over, err := reserve()
	if err == nil && over != "" { // the amount held for this call itself may be the missing amount
		if held := b.payer.held.take() + b.held; held > 0 {
			b.held = 0
			b.meter.release(ctx, b.day, b.payer, held)
			got, over, err = reserve()
		}
	}
	if err := b.meter.refusal(b.payer, b.day, over, err); err != nil {
		return err
	}
	b.reserved += got
	b.money += r.USD(got)
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
	var f *llm.Failure
	b.refused = errors.As(err, &f) && f.Kind.Unpaid() && b.said+b.alive == 0 && b.usage == nil
}

// extend reserves more when the answer exceeds the reservation. With a maximum, the provider can exceed it by as much
// again, because the count is an estimate. It fails with a [*LimitError].
func (b *reservation) extend(ctx context.Context) error {
	written := max(b.said/bytesPerToken, b.chunks) + b.alive
	if b.most > 0 {
		written /= 2
	}
	if b.ended || written < b.reserved-b.prompt {
		return nil
	}
	if err := b.add(ctx, Reservation{Least: leastTokens, Most: stepTokens, Rate: b.rate}); err != nil {
		return fmt.Errorf("continue an answer of %d tokens: %w", written, err)
	}
	return nil
}

// used returns the tokens of the call: the provider's report, or an estimate. An interrupted answer may have been
// generated further than it was received: up to the reservation, but not much more than was received.
func (b *reservation) used() llm.Usage {
	said := b.said/bytesPerToken + b.alive
	switch {
	case b.usage != nil:
		return *b.usage
	case b.refused:
		return llm.Usage{}
	case b.flat:
		return llm.Usage{Prompt: b.reserved}
	case b.whole, b.failed && said == 0: // a failed call costs its prompt at most
		return llm.Usage{Prompt: b.prompt, Completion: said}
	}
	return llm.Usage{Prompt: b.prompt, Completion: max(said, min(b.reserved-b.prompt, said+replyTokens))}
}

// call returns the call's part of the usage of its answer: zero unless it was an accepted call of a language model.
func (b *reservation) call(u llm.Usage) llm.UsageSum {
	if b.flat || b.refused {
		return llm.UsageSum{}
	}
	provider, model, _ := strings.Cut(b.tariff.Name, "/")
	return llm.UsageSum{
		Calls: 1, Prompt: u.Prompt, Completion: u.Completion, Cached: u.Cached, Provider: provider, Model: model, Estimated: b.usage == nil,
	}
}

// cost returns the cost of the call. The cost of an estimated usage is the highest.
func (b *reservation) cost(u llm.Usage) Cost {
	c := Cost{Tokens: u.Prompt + u.Completion}
	switch {
	case b.refused:
	case b.flat:
		c.USD = b.money
	case b.usage != nil:
		c.USD = b.tariff.Price.Of(u)
	default:
		base, rate := b.tariff.Price.Most(u.Prompt)
		c.USD = base + rate.Of(u.Completion)
	}
	return c
}

// settle corrects the reservation, even after ctx has ended. If storing fails, the reservation stays. A run does not
// wait for it: the next write of the run can share its commit.
func (b *reservation) settle(ctx context.Context) {
	u := b.used()
	whole := b.cost(u)
	b.payer.spent.add(whole.USD, b.call(u), b.answers)
	counts := Counts{Input: u.Prompt, Cached: u.Cached, Output: u.Completion}
	if !b.tariff.Known {
		counts.Unpriced = u.Prompt + u.Completion
	}
	charges := b.charges(whole, counts)
	store := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		if err := b.meter.record(ctx, b.day, charges); err != nil {
			b.meter.log.Error("the usage of a model call could not be recorded; its full reservation is charged", "err", err)
		}
	}
	if b.payer.settling == nil || !b.meter.limited() {
		store()
		return
	}
	b.payer.settling.start(store)
}

// charges returns the charges of all buckets for the call: for those with a limit, the difference from the reservation.
// Limits don't apply to money that is spent already.
func (b *reservation) charges(whole Cost, counts Counts) (all []Charge) {
	soft := b.meter.softLimits(b.payer)
	more := Cost{Tokens: whole.Tokens - b.reserved, USD: whole.USD - b.money}
	for _, u := range b.meter.buckets(b.payer) {
		cost := whole
		if b.meter.limited() && u.max != (Cost{}) {
			cost = more
		}
		if slices.ContainsFunc(soft, func(l softLimit) bool { return l.bucket == u.bucket }) {
			cost.USD -= b.held
		}
		all = append(all, Charge{Bucket: u.bucket, Cost: cost, Counts: counts})
	}
	if b.tariff.Name != "" {
		all = append(all, Charge{Bucket: modelBucket + b.tariff.Name, Cost: whole, Counts: counts})
	}
	if b.payer.run != "" {
		all = append(all, Charge{Bucket: AnswerBuckets + string(b.payer.run), Cost: whole, Counts: counts})
	}
	return all
}

// open reserves tokens for an answer of at most most tokens, or without a maximum, for its first step. If less is left,
// the answer is limited to that. With a limit of money every answer has a maximum, because its cost would be unbounded
// otherwise. It fails with a [*LimitError] if too little is left, and with the error of the store.
func (m *Meter) open(ctx context.Context, t Tariff, prompt, most int) (*reservation, error) {
	want := most
	if most == 0 {
		want = stepTokens
	}
	base, rate := t.Price.Most(prompt)
	b, err := m.reserve(ctx, t, Reservation{Least: prompt + min(want, leastTokens), Most: prompt + want, Included: prompt, Base: base, Rate: rate})
	if err != nil {
		return nil, err
	}
	b.prompt, b.most = prompt, most
	if left := b.reserved - prompt; m.limited() && (left < want || m.bounds().money()) {
		b.most = left
	}
	return b, nil
}

// reserve takes tokens from the limits, as many as are left. It fails with a [*LimitError] if too few are, and with the
// error of the store.
func (m *Meter) reserve(ctx context.Context, t Tariff, r Reservation) (*reservation, error) {
	if err := m.CountMessage(ctx); err != nil {
		return nil, err
	}
	b := &reservation{meter: m, tariff: t, payer: spenderOf(ctx), day: m.now(), rate: r.Rate}
	return b, b.add(ctx, r)
}
