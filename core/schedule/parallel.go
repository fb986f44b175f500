package schedule

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"parley/core/chat"
)

// ErrQueued means that a run waits until fewer answers are in progress, of its person or in total. Its lane is
// released, and woken later.
var ErrQueued = errors.New("too many parallel answers")

// Parallel limits the concurrent answers in this process: per person, so that one person can't use all of its capacity,
// and in total, so that memory and connections are bounded. Further runs wait in the order of their opening, unstarted:
// they use neither a goroutine nor other resources. A run that waits for other answers of its person takes no place of
// the total. It is safe for concurrent use.
type Parallel struct {
	wake func(Lane) // called without the lock

	// mu guards the fields below.
	mu     sync.Mutex
	most   int // 0 is no limit, as for total
	total  int
	under  int                      // answers under way
	people map[chat.EntityID]*queue // of those with a run
	// lanes has, for each waiting lane, the person whose answers it waits for. A lane waits at most once.
	lanes map[Lane]chat.EntityID
}

// NewParallel limits the concurrent answers of each person to most, and those of all to total; 0 means no limit. wake is
// called for lanes that can continue.
func NewParallel(most, total int, wake func(Lane)) *Parallel {
	return &Parallel{most: most, total: total, wake: wake, people: map[chat.EntityID]*queue{}, lanes: map[Lane]chat.EntityID{}}
}

// queue is the queue of one person. It exists while it is not empty.
type queue struct {
	under   map[*Place]struct{} // the taken places
	waiting []queued            // in order
}

// queued is a lane that waits, with the time when its run was opened.
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

// Enter takes a place for run, or queues its lane and returns false. A queued lane calls it again when it is woken. A
// run starts only if there is room for all runs that are queued before it and can continue, so none is overtaken.
func (p *Parallel) Enter(l Lane, run chat.Run) (place *Place, ok bool) {
	person := run.Address.BilledTo
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue(person)
	at := slices.IndexFunc(q.waiting, func(w queued) bool { return w.lane == l })
	if at < 0 { // its place follows from the time when its run was opened
		at = len(q.waiting)
		for at > 0 && q.waiting[at-1].opened.After(run.Opened) {
			at--
		}
		q.waiting = slices.Insert(q.waiting, at, queued{l, run.Opened})
		p.lanes[l] = person
	}
	if at >= p.free(q) || !p.hasPlace(q.waiting[at]) {
		return nil, false
	}
	q.waiting = slices.Delete(q.waiting, at, at+1)
	delete(p.lanes, l)
	place = &Place{parallel: p, person: person, since: time.Now()}
	p.take(place)
	return place, true
}

// Limit changes the limits, for answers that start from now on.
func (p *Parallel) Limit(most, total int) {
	p.mu.Lock()
	p.most, p.total = most, total
	p.next("")
}

// queue requires the lock, like all below.
func (p *Parallel) queue(person chat.EntityID) *queue {
	q := p.people[person]
	if q == nil {
		q = &queue{under: map[*Place]struct{}{}}
		p.people[person] = q
	}
	return q
}

// free returns how many lanes of q can continue, from the front, within the limit of its person.
func (p *Parallel) free(q *queue) int {
	if p.most == 0 {
		return math.MaxInt
	}
	return max(0, p.most-len(q.under))
}

// hasPlace reports whether the total has a place for w after all others that can continue and were opened before.
func (p *Parallel) hasPlace(w queued) bool {
	if p.total == 0 || p.under+len(p.lanes) <= p.total {
		return true
	}
	before := 0
	for _, o := range p.ready() {
		if inOrder(o, w) < 0 {
			before++
		}
	}
	return p.under+before < p.total
}

// ready returns the lanes of all persons that can continue within the limits of their person, in order.
func (p *Parallel) ready() (all []queued) {
	for _, q := range p.people {
		all = append(all, q.waiting[:min(len(q.waiting), p.free(q))]...)
	}
	slices.SortFunc(all, inOrder)
	return all
}

func inOrder(a, b queued) int {
	return cmp.Or(a.opened.Compare(b.opened), cmp.Compare(a.lane.Room, b.lane.Room))
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

// next wakes the lanes that can continue after a change for a person. It requires the lock and releases it, because
// wake may call Enter. The lanes stay queued until they do.
func (p *Parallel) next(person chat.EntityID) {
	if q := p.people[person]; q != nil && len(q.under)+len(q.waiting) == 0 {
		delete(p.people, person)
	}
	var free []queued
	if len(p.lanes) > 0 {
		free = p.ready()
	}
	if p.total > 0 {
		free = free[:max(0, min(len(free), p.total-p.under))]
	}
	p.mu.Unlock()
	for _, w := range free {
		p.wake(w.lane)
	}
}
