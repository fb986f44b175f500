package quota

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"parley/core/chat"
)

// Limits say how much may be spent in a day, which begins at midnight in Zone. The zero value is no limit.
type Limits struct {
	Person Cost           // by one person, wherever they write
	Room   Cost           // in one room
	Total  Cost           // by everybody
	Zone   *time.Location // nil is UTC
}

// LimitError reports which limit is reached, and when it resets.
type LimitError struct {
	Bucket string
	Whose  string // in words for people
	Until  time.Time
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the limit of %s is reached until %s", e.Bucket, e.Until.Format(time.RFC3339))
}

// Meter holds the calls of models to limits: what a call may take is reserved before it, and settled after it, however it
// ends. What a crash leaves stays reserved. Without its ledger no call is made. A nil Meter limits nothing.
type Meter struct {
	limits Limits
	ledger UsageStore
	log    *slog.Logger
}

// NewMeter returns nil if there are no limits.
func NewMeter(l Limits, ledger UsageStore, log *slog.Logger) *Meter {
	if l.Person == (Cost{}) && l.Room == (Cost{}) && l.Total == (Cost{}) {
		return nil
	}
	if l.Zone == nil {
		l.Zone = time.UTC
	}
	return &Meter{l, ledger, log}
}

// spender is who pays for what is done in a context.
type spender struct {
	person  chat.EntityID
	room    chat.RoomID
	run     chat.RunID   // that is counted as a message before anything is paid for it; empty: nothing is
	counted *atomic.Bool // spares asking the ledger again
}

type spenderKey struct{}

// WithSpender is a context in which those pay who have asked what run answers. What is done in others counts for the total.
func WithSpender(ctx context.Context, run chat.Run) context.Context {
	return context.WithValue(ctx, spenderKey{}, spender{run.Address.BilledTo, run.Room, run.ID, new(atomic.Bool)})
}

func spenderOf(ctx context.Context) spender {
	p, _ := ctx.Value(spenderKey{}).(spender)
	return p
}

// bucket is a bucket with its limit.
type bucket struct {
	bucket, whose string
	max           Cost
}

// buckets are those that p pays from. The narrowest comes first: it says best what is spent.
func (m *Meter) buckets(p spender) (all []bucket) {
	if p.person != "" {
		all = append(all, bucket{"person/" + string(p.person), "You've reached your daily limit", m.limits.Person})
	}
	if p.room != "" {
		all = append(all, bucket{"room/" + string(p.room), "This chat has reached its daily limit", m.limits.Room})
	}
	return append(all, bucket{"total", "I've reached my daily limit", m.limits.Total})
}

// charges are what c is for p. What has no limit is not counted.
func (m *Meter) charges(p spender, c Cost) (all []Charge) {
	for _, u := range m.buckets(p) {
		if u.max != (Cost{}) {
			all = append(all, Charge{Bucket: u.bucket, Cost: c, Max: u.max})
		}
	}
	return all
}

// refusal is the error for what the ledger said: nil, unless a bucket is over its limit.
func (m *Meter) refusal(p spender, day time.Time, over string, err error) error {
	if err != nil {
		return fmt.Errorf("charge usage: %w", err)
	}
	for _, u := range m.buckets(p) {
		if u.bucket == over {
			return &LimitError{Bucket: over, Whose: u.whose, Until: time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, m.limits.Zone)}
		}
	}
	return nil
}

func (m *Meter) now() time.Time { return time.Now().In(m.limits.Zone) }

func date(day time.Time) string { return day.Format(time.DateOnly) }

// CountMessage counts the run of a context as one message, before anything is paid for it. A run is counted once, however often it
// starts; a [*LimitError] forbids it.
func (m *Meter) CountMessage(ctx context.Context) error {
	p := spenderOf(ctx)
	if m == nil || p.run == "" || p.counted.Load() {
		return nil
	}
	day := m.now()
	over, err := m.ledger.Count(ctx, date(day), p.run, m.charges(p, Cost{Messages: 1})...)
	if err := m.refusal(p, day, over, err); err != nil {
		return err
	}
	p.counted.Store(true)
	return nil
}

// FirstNotice reports whether the spender of ctx is told of a limit for the first time today.
func (m *Meter) FirstNotice(ctx context.Context) (bool, error) {
	return m.ledger.Warn(ctx, date(m.now()), m.buckets(spenderOf(ctx))[0].bucket)
}

// Sentence is what people read in place of an answer, or below what there is of one.
func (e *LimitError) Sentence() string {
	return fmt.Sprintf(limitLine, e.Whose, about(time.Until(e.Until)))
}

const limitLine = "%s. It resets in %s."

// about is d as people say it.
func about(d time.Duration) string {
	n, unit := int(math.Ceil(d.Hours())), "hour"
	if d <= time.Hour {
		n, unit = int(math.Ceil(d.Minutes())), "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}
