package connectors

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"parley/core/chat"
	"parley/internal/contain"
)

const (
	leastRetry = time.Second // back-off after a failed delivery
	mostRetry  = 10 * time.Second
	mostPanics = 3 // of one event
)

// Intake delivers a platform's events to the gateway, and records how far they are done, so that they can be
// acknowledged.
//
// K is the key that orders events, such as a chat; M is a position in the platform's stream of events, such as an
// offset.
//
//   - Events of one key are delivered one after the other, in the order of adding. Those of different keys are
//     delivered at the same time, which lets the store save them in one transaction.
//   - An event that fails is tried again after a back-off. Meanwhile the later events of its key wait; other keys
//     continue.
//   - An event that can never be delivered is logged and dropped, which counts as done: one that fails with
//     [chat.ErrTooLarge], that panics three times, or that [IntakeOptions.GiveUp] is about.
//   - [Intake.Reached] never passes an event that is not done. An event that is pending when the process dies is
//     therefore delivered again by the platform, and so are later ones that were done: the gateway recognizes them by
//     their ids.
//   - At most [IntakeOptions.PerKey] and [IntakeOptions.Total] events wait, and there is one goroutine for each key
//     with events, and none for others.
//   - [Intake.Close] gives each waiting event of a key one more attempt, up to the first that fails.
//
// All methods are safe for concurrent use.
type Intake[K comparable, M any] struct {
	ctx context.Context
	o   IntakeOptions
	watermark[M]

	// mu guards all fields below except the channels, which are safe themselves. The watermark has a lock of its own,
	// which is never taken together with this one.
	mu      sync.Mutex
	lanes   map[K]*lane[M] // of keys with events
	waiting int            // events in all lanes, without those that are being delivered
	active  int            // lanes that are not in a back-off
	failing int            // lanes in a back-off
	done    int            // events so far
	closed  bool
	closing chan struct{} // closed with closed
	settled chan struct{} // holds a token if active has become 0 since the last receive
	workers sync.WaitGroup
}

// IntakeOptions bound an [Intake].
type IntakeOptions struct {
	PerKey, Total int // how many events wait at most
	// GiveUp limits how long an event can keep failing while events of other keys don't. Then it is dropped. 0 is
	// never.
	GiveUp time.Duration
	Log    *slog.Logger
}

// Event is something to deliver in its turn.
type Event[M any] struct {
	ID string // of the message, for the log and for [Intake.Rearrange]; can be empty
	// Deliver returns nil when the event is stored. It should bound its time, but not end early when its context ends,
	// which is that of the Intake.
	Deliver func(ctx context.Context) error
	Ticket  *Ticket[M] // one of its holds, which is released when the event is done
	Done    func()     // called when the event is done, if it is set; it must not block
}

// lane is the queue of one key. It exists from its first event until its goroutine finds it empty. The lock of the
// Intake guards it.
type lane[M any] struct {
	queue []Event[M]
}

// NewIntake returns an Intake for a stream whose events up to reached are done.
func NewIntake[K comparable, M any](ctx context.Context, o IntakeOptions, reached M) *Intake[K, M] {
	return &Intake[K, M]{
		ctx: ctx, o: o, watermark: watermark[M]{reached: reached, advanced: make(chan struct{}, 1)},
		lanes: map[K]*lane[M]{}, closing: make(chan struct{}), settled: make(chan struct{}, 1),
	}
}

// Begin registers the platform's next event, and returns its ticket with one hold. to is the position to acknowledge once
// this event and all earlier ones are done.
func (i *Intake[K, M]) Begin(to M) *Ticket[M] { return i.begin(to) }

// Reached returns the position to acknowledge.
func (i *Intake[K, M]) Reached() M {
	i.watermark.mu.Lock()
	defer i.watermark.mu.Unlock()
	return i.reached
}

// Advanced returns a channel that holds a token if Reached may have changed since the last receive.
func (i *Intake[K, M]) Advanced() <-chan struct{} { return i.advanced }

// Add queues e behind the other events of its key, without blocking, and takes over one hold of its ticket. It reports
// whether there was room; otherwise the hold remains the caller's. After Close there is room, but no delivery.
func (i *Intake[K, M]) Add(key K, e Event[M]) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if l := i.lanes[key]; i.waiting >= i.o.Total || l != nil && len(l.queue) >= i.o.PerKey {
		return false
	}
	i.change(key, func(queue []Event[M]) []Event[M] { return append(queue, e) })
	return true
}

// Rearrange replaces the events of a key that wait, which do not include the one that is being delivered. It is for the
// few events that must not wait for room or for their turn, so nothing bounds their number. Events that are left out
// are never delivered, and their tickets stay with the caller. change is called with the lock held: it must be quick,
// and must not call the Intake.
func (i *Intake[K, M]) Rearrange(key K, change func(waiting []Event[M]) []Event[M]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.change(key, change)
}

// change replaces the queue of a key, and starts a goroutine for it if it has none. It requires the lock.
func (i *Intake[K, M]) change(key K, change func([]Event[M]) []Event[M]) {
	l := i.lanes[key]
	known := l != nil
	if !known {
		l = &lane[M]{}
	}
	before := len(l.queue)
	l.queue = change(l.queue)
	i.waiting += len(l.queue) - before
	// After Close no goroutine is started: the events stay undelivered, so their tickets hold back the position, and
	// the platform delivers them to the next process.
	if known || len(l.queue) == 0 || i.closed {
		return
	}
	i.lanes[key] = l
	i.active++
	i.workers.Go(func() { i.work(key, l) })
}

// Settle waits until each event has been delivered or has failed at least once, or waits behind one that has; or until
// the time is over. Calls must not overlap.
func (i *Intake[K, M]) Settle(most time.Duration) {
	late := time.After(most)
	for {
		i.mu.Lock()
		active := i.active
		i.mu.Unlock()
		if active == 0 {
			return
		}
		select {
		case <-i.settled:
		case <-late:
			return
		}
	}
}

// Failing returns how many keys wait for an event that has failed, which is more than 0 while the store is unavailable.
func (i *Intake[K, M]) Failing() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.failing
}

// Close stops accepting events, ends all pauses, and returns when the accepted events are done or have failed once
// more. It can be called several times.
func (i *Intake[K, M]) Close() {
	i.mu.Lock()
	if !i.closed {
		i.closed = true
		close(i.closing)
	}
	i.mu.Unlock()
	i.workers.Wait()
}

// work delivers the events of a key until there are none, or until one fails after Close.
func (i *Intake[K, M]) work(key K, l *lane[M]) {
	for {
		e, ok := i.next(key, l)
		if !ok {
			return
		}
		if !i.deliver(key, e) {
			i.rest(0)
			// The lane stays in the map without a goroutine, so that no later event of the key overtakes the failed
			// one.
			return
		}
		e.Ticket.Release()
		if e.Done != nil {
			e.Done()
		}
	}
}

// next takes the first event of a lane. If there is none, it removes the lane in the same critical section, so that an
// event that is added at this moment gets a goroutine of its own.
func (i *Intake[K, M]) next(key K, l *lane[M]) (e Event[M], ok bool) {
	i.mu.Lock()
	if len(l.queue) == 0 {
		delete(i.lanes, key)
		i.mu.Unlock()
		i.rest(0)
		return e, false
	}
	defer i.mu.Unlock()
	e, l.queue = l.queue[0], l.queue[1:]
	i.waiting--
	return e, true
}

// rest counts one active lane less, and failing ones more. At 0 it wakes Settle.
func (i *Intake[K, M]) rest(failing int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failing += failing
	if i.active--; i.active == 0 {
		select {
		case i.settled <- struct{}{}:
		default:
		}
	}
}

// deliver attempts e until it is done, and then returns true. It returns false if e fails after Close.
func (i *Intake[K, M]) deliver(key K, e Event[M]) bool {
	f := failure{wait: leastRetry}
	for {
		// Read before the attempt: each event gets one whole attempt after Close.
		closed := i.ended()
		err := i.attempt(e)
		if err == nil || i.hopeless(&f, err) {
			if err != nil {
				i.o.Log.Error("an event can't be processed and is dropped", "chat", key, "event", e.ID, "err", err)
			}
			i.mu.Lock()
			i.done++
			i.mu.Unlock()
			return true
		}
		log := i.o.Log.With("chat", key, "event", e.ID, "err", err)
		if closed {
			log.Error("shutting down with an unsaved event; it will be delivered at the next start")
			return false
		}
		if f.wait < mostRetry { // the rest is repetition
			log.Warn("an event can't be saved yet; its chat waits", "again", f.wait)
		}
		i.pause(f.wait)
		f.wait = min(2*f.wait, mostRetry)
	}
}

// ended reports whether Close was called.
func (i *Intake[K, M]) ended() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.closed
}

// failure is the state of an event that failed.
type failure struct {
	wait   time.Duration // before the next attempt
	since  time.Time
	done   int // events of other keys, at that time
	panics int
}

// hopeless reports whether an event that failed with err is to be dropped. Time alone is no reason: while the store is
// unavailable all events fail, and none may be lost. Only an event that keeps failing while others succeed is itself
// the problem.
func (i *Intake[K, M]) hopeless(f *failure, err error) bool {
	var p *contain.Panic
	if errors.As(err, &p) {
		f.panics++
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if f.since.IsZero() {
		f.since, f.done = time.Now(), i.done
	}
	alone := i.o.GiveUp > 0 && i.done > f.done && time.Since(f.since) >= i.o.GiveUp
	return alone || f.panics >= mostPanics || errors.Is(err, chat.ErrTooLarge)
}

// attempt delivers e once. A panic becomes an error.
func (i *Intake[K, M]) attempt(e Event[M]) error {
	return contain.Call("the delivery of an event", func() error { return e.Deliver(i.ctx) })
}

// pause is the back-off of a lane, which counts as failing meanwhile. Close ends it.
func (i *Intake[K, M]) pause(d time.Duration) {
	i.rest(1)
	select {
	case <-time.After(d):
	case <-i.closing:
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.active++
	i.failing--
}
