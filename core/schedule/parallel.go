package schedule

import (
	"errors"
	"slices"
	"sync"
	"time"

	"parley/core/chat"
)

// ErrQueued means that a run waits until fewer answers of its person are in progress. Its lane is let go, and woken
// later.
var ErrQueued = errors.New("too many parallel answers for this user")

// Parallel limits the concurrent answers per person in this process, so that one person can't take all of its capacity.
// Further runs wait in the order of their opening, unstarted: they use neither a goroutine nor other resources. It is
// safe for concurrent use.
type Parallel struct {
	most int        // 0 is no limit
	wake func(Lane) // called without the lock

	// mu guards what follows.
	mu     sync.Mutex
	people map[chat.EntityID]*queue // of those with a run
	// lanes has, for each waiting lane, the person whose answers it waits for. A lane waits at most once.
	lanes map[Lane]chat.EntityID
}

// NewParallel limits the concurrent answers of each person to most; 0 means no limit. wake is called for lanes that can
// continue.
func NewParallel(most int, wake func(Lane)) *Parallel {
	return &Parallel{most: most, wake: wake, people: map[chat.EntityID]*queue{}, lanes: map[Lane]chat.EntityID{}}
}

// queue is one person's. It exists while there is something in it.
type queue struct {
	under   map[chat.RunID]bool // under way
	waiting []queued            // in order
}

// queued is a lane that waits, with the time at which its run was opened.
type queued struct {
	lane   Lane
	opened time.Time
}

// NeedsSlot reports whether a run has to wait for other runs that are billed to the same person. Runs that call no
// model never do, nor do those that only end: because a later turn has claimed the room (taken), or because their
// verdict is decided.
func NeedsSlot(r chat.Run, taken bool) bool {
	return r.Kind.Claims() && r.Kind != chat.RunOverflow && r.Verdict == nil && !taken && r.Address.BilledTo != ""
}

// Enter starts run and returns true, or queues its lane and returns false. A queued lane calls it again when it is
// woken. A run starts only if there is room for all that are queued before it, so none is overtaken.
func (p *Parallel) Enter(l Lane, run chat.Run) bool {
	if p.most == 0 {
		return true
	}
	person := run.Address.BilledTo
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue(person)
	// The place of the lane in the queue, or the one that it would get by the time at which its run was opened.
	at := slices.IndexFunc(q.waiting, func(w queued) bool { return w.lane == l })
	if at < 0 {
		at = len(q.waiting)
		for at > 0 && q.waiting[at-1].opened.After(run.Opened) {
			at--
		}
	}
	// As many lanes as there are free places may go on, from the front.
	switch waits := at >= p.most-len(q.under); {
	case waits && p.lanes[l] == "":
		q.waiting = slices.Insert(q.waiting, at, queued{l, run.Opened})
		p.lanes[l] = person
		return false
	case waits:
		return false
	case p.lanes[l] != "":
		q.waiting = slices.Delete(q.waiting, at, at+1)
		delete(p.lanes, l)
	}
	q.under[run.ID] = true
	return true
}

// queue requires the lock.
func (p *Parallel) queue(person chat.EntityID) *queue {
	q := p.people[person]
	if q == nil {
		q = &queue{under: map[chat.RunID]bool{}}
		p.people[person] = q
	}
	return q
}

// Resume counts a run that has left and continues, even over the limit: it does not wait, because people see a part of
// its answer.
func (p *Parallel) Resume(run chat.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.most > 0 && run.Address.BilledTo != "" {
		p.queue(run.Address.BilledTo).under[run.ID] = true
	}
}

// Leave undoes Enter or Resume, and wakes the lanes that can continue. Calling it again has no effect.
func (p *Parallel) Leave(run chat.Run) {
	p.mu.Lock()
	person := run.Address.BilledTo
	if q := p.people[person]; q != nil {
		delete(q.under, run.ID)
	}
	p.next(person)
}

// Forget removes a lane from the queue, unless it waits for person: the waiting run has ended, or is no longer the next
// one.
func (p *Parallel) Forget(l Lane, person chat.EntityID) {
	p.mu.Lock()
	waits := p.lanes[l]
	if waits == "" || waits == person {
		p.mu.Unlock()
		return
	}
	delete(p.lanes, l)
	q := p.people[waits]
	q.waiting = slices.DeleteFunc(q.waiting, func(w queued) bool { return w.lane == l })
	p.next(waits)
}

// next wakes the lanes that can go on for a person. It requires the lock and releases it, because wake may call Enter.
// The lanes stay queued until they do.
func (p *Parallel) next(person chat.EntityID) {
	var free []queued
	if q := p.people[person]; q != nil {
		free = slices.Clone(q.waiting[:max(0, min(len(q.waiting), p.most-len(q.under)))])
		if len(q.under)+len(q.waiting) == 0 {
			delete(p.people, person)
		}
	}
	p.mu.Unlock()
	for _, w := range free {
		p.wake(w.lane)
	}
}
