package event

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// backlog is how many events wait for a slow observer before it misses some.
const backlog = 256

// observerGrace is how long observers may take for what is queued when they are to end.
const observerGrace = time.Second

// listener is an observer with its queue.
type listener struct {
	Observer
	queue  chan Event
	missed atomic.Uint64
	log    *slog.Logger

	following atomic.Int32 // answers
}

// Hub gives events to observers, each of which has a queue of its own.
type Hub struct {
	listeners []*listener
	following sync.WaitGroup // observers that are told how answers grow
	log       *slog.Logger
}

// NewHub returns a hub for all.
func NewHub(all []Observer, log *slog.Logger) *Hub {
	h := &Hub{log: log}
	for _, o := range all {
		h.listeners = append(h.listeners, &listener{Observer: o, queue: make(chan Event, backlog), log: log})
	}
	return h
}

// Empty reports whether there are no observers.
func (h *Hub) Empty() bool { return len(h.listeners) == 0 }

// Emit tells everybody of e, without waiting for anybody.
func (h *Hub) Emit(e Event) {
	for _, l := range h.listeners {
		select {
		case l.queue <- e:
		default:
			l.miss()
		}
	}
}

// miss counts an event that l was too slow for.
func (l *listener) miss() {
	if l.missed.Add(1) == 1 {
		l.log.Warn("an observer is too slow; events were dropped", "observer", fmt.Sprintf("%T", l.Observer))
	}
}

// Missed counts what observers were too slow for.
func (h *Hub) Missed() (n uint64) {
	for _, l := range h.listeners {
		n += l.missed.Load()
	}
	return n
}

// Listen serves the observers until the returned function is called. That function delivers queued events, but gives up
// soon on an observer that hangs, because a goroutine can't be killed.
func (h *Hub) Listen() (stop func()) {
	end, done := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for _, l := range h.listeners {
		all.Go(func() { l.serve(end) })
	}
	go func() { all.Wait(); h.following.Wait(); close(done) }()
	return func() {
		close(end)
		select {
		case <-done:
		case <-time.After(observerGrace):
			h.log.Warn("an observer did not return in time and is ignored")
		}
	}
}

func (l *listener) serve(end <-chan struct{}) {
	for {
		select {
		case e := <-l.queue:
			l.enqueue(e)
		case <-end:
			for len(l.queue) > 0 {
				l.enqueue(<-l.queue)
			}
			return
		}
	}
}

// enqueue is one call. A panic is the observer's own.
func (l *listener) enqueue(e Event) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("an observer panicked", "observer", fmt.Sprintf("%T", l.Observer), "event", fmt.Sprintf("%T", e),
				"panic", p, "stack", string(debug.Stack()))
		}
	}()
	l.Observe(e)
}
