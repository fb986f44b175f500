package quota

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"parley/core/llm"
)

// Soft are daily amounts of money; beyond them users are asked before an answer continues. 0 means never. Hard limits
// always apply.
type Soft struct{ Person, Room, Total USD }

// Asks reports whether there is a soft limit.
func (m *Meter) Asks() bool { return m != nil && m.bounds().Soft != Soft{} }

// Beyond is a soft limit that is about to be exceeded.
type Beyond struct {
	Kind  string // the limit, by a name that is the same for all persons and rooms
	Whose string // "person", "room" or "total"
	Limit USD    // a day
}

// Hold reserves the cost of the next call of a model in ctx, unless a soft limit would be exceeded: then it returns
// these limits, and holds nothing. Limits of the allowed kinds can be exceeded. Checking and reserving are one step, so
// concurrent calls can't pass together if only one of them fits. The call returns the reservation when it settles. Hold
// fails with the error of the store.
func (m *Meter) Hold(ctx context.Context, cost USD, allowed ...string) (all []Beyond, err error) {
	if !m.Asks() || cost <= 0 {
		return nil, nil
	}
	WaitSettled(ctx)
	p, day := spenderOf(ctx), m.now()
	m.Release(ctx)
	var charges []Charge
	for _, l := range m.softLimits(p) {
		c := Charge{Bucket: l.bucket, Cost: Cost{USD: cost}}
		if !slices.Contains(allowed, l.Kind) {
			c.Max.USD = l.Limit
		}
		charges = append(charges, c)
	}
	over, err := m.ledger.Spend(ctx, date(day), charges...)
	if err != nil {
		return nil, fmt.Errorf("reserve what a call costs: %w", err)
	}
	if over == "" {
		p.held.put(cost)
		return nil, nil
	}
	return m.exceeded(ctx, date(day), p, cost, over, allowed)
}

// exceeded returns the soft limits that the cost would exceed: the one in over, and others. It fails with the error of
// the store.
func (m *Meter) exceeded(ctx context.Context, day string, p spender, cost USD, over string, allowed []string) (all []Beyond, err error) {
	for _, l := range m.softLimits(p) {
		if slices.Contains(allowed, l.Kind) {
			continue
		}
		spent, err := m.ledger.Spent(ctx, day, l.bucket)
		if err != nil {
			return nil, fmt.Errorf("read what was used: %w", err)
		}
		if l.bucket == over || spent.USD+cost > l.Limit {
			all = append(all, l.Beyond)
		}
	}
	return all, nil
}

// Release returns the reservation of [Meter.Hold], if no call was made since.
func (m *Meter) Release(ctx context.Context) {
	if p := spenderOf(ctx); m.Asks() {
		m.release(ctx, m.now(), p, p.held.take())
	}
}

// release returns the held amount. If that can't be stored, the amount stays charged.
func (m *Meter) release(ctx context.Context, day time.Time, p spender, held USD) {
	if held == 0 {
		return
	}
	var charges []Charge
	for _, l := range m.softLimits(p) {
		charges = append(charges, Charge{Bucket: l.bucket, Cost: Cost{USD: -held}})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if _, err := m.ledger.Spend(ctx, date(day), charges...); err != nil {
		m.log.Error("a reservation for a model call could not be returned; it stays charged", "err", err)
	}
}

// softLimit is a soft limit of a bucket.
type softLimit struct {
	Beyond
	bucket string
}

// softLimits returns the soft limits of a spender, narrowest first.
func (m *Meter) softLimits(p spender) (all []softLimit) {
	soft := m.bounds().Soft
	if soft.Person > 0 && p.person != "" {
		all = append(all, softLimit{Beyond{personBucket, "person", soft.Person}, personBucket + string(p.person)})
	}
	if soft.Room > 0 && p.room != "" {
		all = append(all, softLimit{Beyond{roomBucket, "room", soft.Room}, roomBucket + string(p.room)})
	}
	if soft.Total > 0 {
		all = append(all, softLimit{Beyond{totalBucket, "total", soft.Total}, totalBucket})
	}
	return all
}

// held is the amount reserved for the next call of a run within the soft limits. It is safe for concurrent use.
type held struct{ usd atomic.Int64 }

// take removes and returns the held amount, which the caller then has to return. It is 0 for a nil held.
func (h *held) take() USD {
	if h == nil {
		return 0
	}
	return USD(h.usd.Swap(0))
}

func (h *held) put(usd USD) {
	if h != nil {
		h.usd.Store(int64(usd))
	}
}

// Estimate returns the approximate cost of an answer to a prompt, by the price of a model that can answer, or false if
// the price is unknown.
func (m *Meter) Estimate(model string, req llm.Request) (USD, bool) {
	t, ok := m.chat[model]
	if !ok || !t.Known {
		return 0, false
	}
	base, rate := t.Price.Most(llm.EstimateTokens(req))
	return base + rate.Of(replyTokens), true
}
