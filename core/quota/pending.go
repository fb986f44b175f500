package quota

import (
	"context"
	"sync"
	"time"
)

const (
	storeEvery  = 10 * time.Second
	mostPending = 10_000 // buckets; more are dropped while the store can't be written
	mostCharges = 100    // of one call of the store
)

// pending collects usage in memory, so that without limits a turn needs no additional write. A crash loses the usage
// since the last write of [Meter.Run], of ten seconds at most.
type pending struct {
	mu   sync.Mutex
	days map[string]map[string]Charge // by day and bucket
	n    int

	storing sync.Mutex // one at a time
}

func newPending() *pending { return &pending{days: map[string]map[string]Charge{}} }

func (p *pending) add(day string, charges []Charge) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.days[day] == nil {
		p.days[day] = map[string]Charge{}
	}
	for _, c := range charges {
		sum, known := p.days[day][c.Bucket]
		if !known {
			if p.n == mostPending {
				continue
			}
			p.n++
		}
		p.days[day][c.Bucket] = Charge{Bucket: c.Bucket, Cost: sum.Cost.Add(c.Cost), Counts: sum.Counts.Add(c.Counts)}
	}
}

// take returns and removes the pending usage.
func (p *pending) take() map[string]map[string]Charge {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.days
	p.days, p.n = map[string]map[string]Charge{}, 0
	return all
}

// record stores usage, at once if there are limits. It fails with the error of the store.
func (m *Meter) record(ctx context.Context, day time.Time, charges []Charge) error {
	if !m.limited() {
		m.pending.add(date(day), charges)
		return nil
	}
	_, err := m.ledger.Spend(ctx, date(day), charges...)
	return err
}

// store stores the pending usage. After an error the rest stays pending.
func (m *Meter) store(ctx context.Context) (err error) {
	m.pending.storing.Lock()
	defer m.pending.storing.Unlock()
	for day, buckets := range m.pending.take() {
		var charges []Charge
		for _, c := range buckets {
			charges = append(charges, c)
		}
		for len(charges) > 0 {
			n := min(len(charges), mostCharges)
			if err == nil {
				_, err = m.ledger.Spend(ctx, day, charges[:n]...)
			}
			if err != nil {
				m.pending.add(day, charges[:n])
			}
			charges = charges[n:]
		}
	}
	return err
}

// Save stores the pending usage at once, for example before an export or a deletion of personal data. It fails with the
// error of the store.
func (m *Meter) Save(ctx context.Context) error {
	if m == nil {
		return nil
	}
	return m.store(ctx)
}

// Run stores usage periodically, until ctx is done, and once more then.
func (m *Meter) Run(ctx context.Context) {
	if m == nil {
		return
	}
	ticker := time.NewTicker(storeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		if err := m.store(last); err != nil {
			m.log.Warn("what models used could not be stored; it is tried again", "err", err)
		}
		cancel()
		if ctx.Err() != nil {
			return
		}
	}
}

// settling counts the settlements of a run that are being stored. They don't delay the end of its answer. Its next
// reservation waits for them, because it would otherwise find too little left, and so does the run's own end. It is
// safe for concurrent use.
type settling struct {
	mu   sync.Mutex
	n    int
	none *sync.Cond
}

func newSettling() *settling {
	s := &settling{}
	s.none = sync.NewCond(&s.mu)
	return s
}

// start stores a settlement concurrently with its caller.
func (s *settling) start(store func()) {
	s.mu.Lock()
	s.n++
	s.mu.Unlock()
	go func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.n--; s.n == 0 {
				s.none.Broadcast()
			}
		}()
		store()
	}()
}

func (s *settling) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.n > 0 {
		s.none.Wait()
	}
}

// WaitSettled waits until the cost of the calls in a context of [WithSpender] is stored, which takes five seconds at
// most for each. The creator of such a context calls it before the run counts as ended, and before it returns.
func WaitSettled(ctx context.Context) {
	if p := spenderOf(ctx); p.settling != nil {
		p.settling.wait()
	}
}
