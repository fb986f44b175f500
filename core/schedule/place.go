package schedule

import (
	"fmt"
	"time"

	"parley/core/chat"
)

// A Place is one run's share of the limits of [Parallel]. [Parallel.Enter] takes it, and only a taken share can be
// returned: each method has no effect after Leave, and on the nil Place of a run that needs none. Its person is fixed,
// even if the run's payer changes. It is safe for concurrent use.
type Place struct {
	parallel *Parallel
	person   chat.EntityID
	since    time.Time

	// Under the lock of parallel.
	pauses int // the number of open waits for users
	left   bool
}

// Pause returns the place while the run waits for a user. Each Pause needs a Resume. Waits can overlap.
func (p *Place) Pause() {
	if p == nil {
		return
	}
	p.parallel.mu.Lock()
	p.pauses++
	if p.left || p.pauses > 1 {
		p.parallel.mu.Unlock()
		return
	}
	p.parallel.giveBack(p)
}

// Resume ends a Pause. After the last one the run has its place again, even over the limits: it does not wait, because
// users see a part of its answer.
func (p *Place) Resume() {
	if p == nil {
		return
	}
	p.parallel.mu.Lock()
	defer p.parallel.mu.Unlock()
	p.pauses--
	if !p.left && p.pauses == 0 {
		p.parallel.take(p)
	}
}

// Leave returns the place for good, and wakes the lanes that can continue.
func (p *Place) Leave() {
	if p == nil {
		return
	}
	p.parallel.mu.Lock()
	taken := !p.left && p.pauses == 0
	p.left = true
	if !taken {
		p.parallel.mu.Unlock()
		return
	}
	p.parallel.giveBack(p)
}

// take counts a place. It requires the lock.
func (p *Parallel) take(place *Place) {
	p.queue(place.person).under[place] = struct{}{}
	p.under++
}

// giveBack returns a taken place, and wakes the lanes that can continue. It requires the lock and releases it.
func (p *Parallel) giveBack(place *Place) {
	delete(p.people[place.person].under, place)
	p.under--
	p.next(place.person)
}

// Blocking describes the answers that a queued lane waits for. ok is false if it is not queued.
func (p *Parallel) Blocking(l Lane, now time.Time) (why string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	person, ok := p.lanes[l]
	if !ok {
		return "", false
	}
	whose, limit, taken := "of its person", p.most, []*Place{}
	for pl := range p.people[person].under {
		taken = append(taken, pl)
	}
	if p.most == 0 || len(taken) < p.most {
		whose, limit, taken = "of all people", p.total, taken[:0]
		for _, q := range p.people {
			for pl := range q.under {
				taken = append(taken, pl)
			}
		}
	}
	oldest := now
	for _, pl := range taken {
		if pl.since.Before(oldest) {
			oldest = pl.since
		}
	}
	return fmt.Sprintf("%d of %d answers %s are in progress, the oldest for %v", len(taken), limit, whose, now.Sub(oldest).Round(time.Second)), true
}
