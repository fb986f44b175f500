package quota

import (
	"context"
	"fmt"

	"parley/core/llm"
	"parley/core/price"
)

// Soft are daily amounts of money after which people are asked before an answer goes on. 0 means never. Limits always win.
type Soft struct{ Person, Room, Total price.USD }

// Asks reports whether there is a soft limit.
func (m *Meter) Asks() bool { return m != nil && m.limits.Soft != Soft{} }

// Beyond is a soft limit that is about to be exceeded.
type Beyond struct {
	Kind  string    // which limit it is, the same for all people and rooms
	Whose string    // a description for users
	Limit price.USD // a day
}

// Beyond returns the soft limits that a cost would exceed today. Costs that are reserved count.
func (m *Meter) Beyond(ctx context.Context, cost price.USD) (all []Beyond, err error) {
	if !m.Asks() || cost <= 0 {
		return nil, nil
	}
	soft := map[string]price.USD{personBucket: m.limits.Soft.Person, roomBucket: m.limits.Soft.Room, totalBucket: m.limits.Soft.Total}
	whose := map[string]string{personBucket: "You", roomBucket: "This chat", totalBucket: "I"}
	WaitSettled(ctx)
	p := spenderOf(ctx)
	names := map[string]string{totalBucket: totalBucket}
	if p.person != "" {
		names[personBucket] = personBucket + string(p.person)
	}
	if p.room != "" {
		names[roomBucket] = roomBucket + string(p.room)
	}
	day := date(m.now())
	for _, kind := range []string{personBucket, roomBucket, totalBucket} {
		if soft[kind] == 0 || names[kind] == "" {
			continue
		}
		spent, err := m.ledger.Spent(ctx, day, names[kind])
		if err != nil {
			return nil, fmt.Errorf("read what was used: %w", err)
		}
		if spent.USD+cost > soft[kind] {
			all = append(all, Beyond{kind, whose[kind], soft[kind]})
		}
	}
	return all, nil
}

// Estimate returns what an answer to a prompt costs about, by the price of a model that can answer, or false if that is not known.
func (m *Meter) Estimate(model string, req llm.Request) (price.USD, bool) {
	t, ok := m.chat[model]
	if !ok || !t.Known {
		return 0, false
	}
	base, rate := t.Price.Most(llm.EstimateTokens(req))
	return base + rate.Of(replyTokens), true
}
