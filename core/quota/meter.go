// Package quota computes the cost of model calls in US dollars, and enforces daily limits on them: the cost of a call is reserved
// before it and settled after it, by person, by room and in total.
package quota

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/lang"
)

// Limits are daily limits. A day begins at midnight in Zone. The zero value has no limits.
type Limits struct {
	Person Cost           // of one person in all rooms
	Room   Cost           // of one room
	Total  Cost           // of all users
	Soft   Soft           // users are asked beyond it
	Zone   *time.Location // nil is UTC
	Public *Limits        // instead of these, while everyone has access somewhere; nil: the same
}

// any reports whether there are limits.
func (l Limits) any() bool {
	return l.Soft != (Soft{}) || l.Person != (Cost{}) || l.Room != (Cost{}) || l.Total != (Cost{})
}

// money reports whether a limit is in money.
func (l Limits) money() bool { return l.Person.USD > 0 || l.Room.USD > 0 || l.Total.USD > 0 }

// LimitError reports which limit is reached, and when it resets.
type LimitError struct {
	Bucket string
	Whose  string // "person", "room" or "total"
	Until  time.Time
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the limit of %s is reached until %s", e.Bucket, e.Until.Format(time.RFC3339))
}

// Sentence returns the text for users, shown instead of an answer or below a partial one.
func (e *LimitError) Sentence(v lang.Voice) string {
	return v.Say("limit."+e.Whose, "time", about(v, time.Until(e.Until)))
}

// A Meter enforces limits on model calls: the possible cost of a call is reserved before it, and settled after it,
// however it ends. After a crash the reservation stays. If its store fails, no calls are made. Without limits it only
// counts usage. A nil Meter does neither. It is safe for concurrent use.
type Meter struct {
	limits  Limits
	ledger  UsageStore
	log     *slog.Logger
	pending *pending          // the usage that is not stored yet; with limits, all is stored at once
	public  *atomic.Bool      // everyone has access somewhere
	chat    map[string]Tariff // of the models that can answer
}

// NewMeter returns a Meter. Without limits, [Meter.Run] stores the usage.
func NewMeter(l Limits, ledger UsageStore, log *slog.Logger) *Meter {
	return (&Meter{ledger: ledger, log: log, pending: newPending(), public: &atomic.Bool{}}).With(l)
}

// With returns a Meter with other limits that counts the same usage. Run and Save of one of them store that of both.
func (m *Meter) With(l Limits) *Meter {
	if l.Zone == nil {
		l.Zone = time.UTC
	}
	return &Meter{limits: l, ledger: m.ledger, log: m.log, pending: m.pending, public: m.public}
}

// SetOpen makes the limits for strangers count, or ends that.
func (m *Meter) SetOpen(open bool) {
	if m != nil {
		m.public.Store(open)
	}
}

// bounds returns the limits that count now. Their zone is that of limits.
func (m *Meter) bounds() Limits {
	if m.limits.Public != nil && m.public.Load() {
		return *m.limits.Public
	}
	return m.limits
}

// limited reports whether there are limits.
func (m *Meter) limited() bool { return m.bounds().any() }

// buckets returns the buckets that p is charged to, narrowest first, because that is the most helpful one to report.
func (m *Meter) buckets(p spender) []bucket {
	all := make([]bucket, 0, 3)
	if p.person != "" {
		all = append(all, bucket{personBucket + string(p.person), "person", m.bounds().Person})
	}
	if p.room != "" {
		all = append(all, bucket{roomBucket + string(p.room), "room", m.bounds().Room})
	}
	return append(all, bucket{totalBucket, "total", m.bounds().Total})
}

// charges returns the charges of cost c for p, within the limits: a cost of nothing only for the buckets that have one.
func (m *Meter) charges(p spender, c Cost) []Charge {
	all := make([]Charge, 0, 3)
	for _, u := range m.buckets(p) {
		if c != (Cost{}) || u.max != (Cost{}) {
			all = append(all, Charge{Bucket: u.bucket, Cost: c, Max: u.max})
		}
	}
	return all
}

// refusal returns the error for a result of the store: nil, unless a bucket is over its limit.
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

// CountMessage counts the run of a context as one message, before its first cost. A run is counted once, however often
// it starts. It fails with a [*LimitError] if a limit is reached, and with the error of the store.
func (m *Meter) CountMessage(ctx context.Context) error {
	p := spenderOf(ctx)
	return m.CountWith(ctx, func(day string, message ...Charge) (over string, err error) {
		if len(message) == 0 {
			return "", nil
		}
		return m.ledger.Count(ctx, day, p.run, message...)
	})
}

// CountWith is CountMessage for a store that counts other data in the same transaction. There are no charges if no
// count of the message has to be stored now. It fails with a [*LimitError] if a limit is reached, and with the error of
// count.
func (m *Meter) CountWith(ctx context.Context, count func(day string, message ...Charge) (over string, err error)) error {
	return m.count(spenderOf(ctx), count)
}

// CountJoined is CountWith for another message that the run of a context answers.
func (m *Meter) CountJoined(ctx context.Context, count func(day string, message ...Charge) (over string, err error)) error {
	p := spenderOf(ctx)
	p.counted = new(atomic.Bool)
	return m.count(p, count)
}

func (m *Meter) count(p spender, count func(day string, message ...Charge) (over string, err error)) error {
	if m == nil || p.run == "" || p.counted.Load() {
		_, err := count("")
		return err
	}
	day := m.now()
	if !m.limited() {
		if _, err := count(""); err != nil {
			return err
		}
		if !p.counted.Swap(true) {
			m.pending.add(date(day), m.charges(p, Cost{Messages: 1}))
		}
		return nil
	}
	over, err := count(date(day), m.charges(p, Cost{Messages: 1})...)
	if err := m.refusal(p, day, over, err); err != nil {
		return err
	}
	p.counted.Store(true)
	return nil
}

// CountSent counts a message that the agent sends to person in room on its own. It fails with a [*LimitError] if a
// limit is reached, and with the error of the store.
func (m *Meter) CountSent(ctx context.Context, room chat.RoomID, person chat.EntityID) error {
	if m == nil {
		return nil
	}
	p, day := spender{person: person, room: room}, m.now()
	if !m.limited() {
		m.pending.add(date(day), m.charges(p, Cost{Messages: 1}))
		return nil
	}
	over, err := m.ledger.Spend(ctx, date(day), m.charges(p, Cost{Messages: 1})...)
	return m.refusal(p, day, over, err)
}

// FirstNotice reports whether this is the first notice today for the spender of ctx about a limit. It fails with the
// error of the store.
func (m *Meter) FirstNotice(ctx context.Context) (bool, error) {
	return m.ledger.Warn(ctx, date(m.now()), m.buckets(spenderOf(ctx))[0].bucket)
}

// spender identifies the charged person and room in a context.
type spender struct {
	person  chat.EntityID
	room    chat.RoomID
	run     chat.RunID   // counted as a message before its first cost; empty: no message is counted
	counted *atomic.Bool // avoids repeated calls of the store
	spent   *spent       // nil: it is not summed up

	settling *settling // nil: calls are settled before they end
	held     *held     // nil: nothing can be held
}

// spent is the sum over the calls for one run in this process. It is safe for concurrent use.
type spent struct {
	mu     sync.Mutex
	usd    USD
	usage  llm.UsageSum
	answer bool // the model of usage is one that answers
}

// add counts one call. answers reports whether its model is one that answers: others do not take the place of its name.
func (s *spent) add(cost USD, u llm.UsageSum, answers bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usd += cost
	if s.answer && !answers {
		u.Provider, u.Model = "", ""
	}
	s.usage = s.usage.Add(u)
	s.answer = s.answer || answers && u.Provider != ""
}

// CostOf returns the cost of the calls in a context of [WithSpender] so far.
func CostOf(ctx context.Context) USD {
	s := spenderOf(ctx).spent
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usd
}

// UsageOf returns the tokens of the calls of language models in a context of [WithSpender] so far; nil if there were
// none. begun reports whether an earlier process has begun the run without passing on its usage: then the sum is an
// estimate.
func UsageOf(ctx context.Context, begun bool) *llm.UsageSum {
	s := spenderOf(ctx).spent
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usage.Calls == 0 {
		return nil
	}
	u := s.usage
	u.Estimated = u.Estimated || begun
	return &u
}

// AddUsage adds the usage of earlier calls for the run, which are paid already, to the result of [UsageOf].
func AddUsage(ctx context.Context, earlier llm.UsageSum) {
	spenderOf(ctx).spent.add(0, earlier, true)
}

type spenderKey struct{}

// WithSpender returns a context whose costs are charged to the author and room of run. Costs in other contexts only
// count toward the total. The cost of a call is stored concurrently with the run, see [WaitSettled].
func WithSpender(ctx context.Context, run *chat.Run) context.Context {
	return context.WithValue(ctx, spenderKey{}, spender{run.Address.BilledTo, run.Room, run.ID, new(atomic.Bool), new(spent), newSettling(), new(held)})
}

func spenderOf(ctx context.Context) spender {
	p, _ := ctx.Value(spenderKey{}).(spender)
	return p
}

// bucket is a usage counter with its limit.
type bucket struct {
	bucket, whose string
	max           Cost
}

func date(day time.Time) string { return day.Format(time.DateOnly) }

// about formats d for users.
func about(v lang.Voice, d time.Duration) string {
	if d <= time.Hour {
		return v.Say("time.minutes", "n", int(math.Ceil(d.Minutes())))
	}
	return v.Say("time.hours", "n", int(math.Ceil(d.Hours())))
}
