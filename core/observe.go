package core

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
)

// backlog is how many events wait for a slow observer before it misses some.
const backlog = 256

// listener is an observer with its queue.
type listener struct {
	event.Observer
	queue  chan event.Event
	missed atomic.Uint64
	log    *slog.Logger

	following atomic.Int32 // answers
}

// emit tells everybody of e, without waiting for anybody.
func (rt *Runtime) emit(e event.Event) {
	for _, l := range rt.listeners {
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

// MissedEvents counts what observers were too slow for.
func (rt *Runtime) MissedEvents() (n uint64) {
	for _, l := range rt.listeners {
		n += l.missed.Load()
	}
	return n
}

// listen serves the observers until the returned function is called. That lets them hear what is queued, but does not
// wait long for one that hangs: nobody can end it.
func (rt *Runtime) listen() (stop func()) {
	end, done := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for _, l := range rt.listeners {
		all.Go(func() { l.serve(end) })
	}
	go func() { all.Wait(); rt.following.Wait(); close(done) }()
	return func() {
		close(end)
		select {
		case <-done:
		case <-time.After(coordTimeout):
			rt.cfg.Log.Warn("an observer did not return in time and is ignored")
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
func (l *listener) enqueue(e event.Event) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("an observer panicked", "observer", fmt.Sprintf("%T", l.Observer), "event", fmt.Sprintf("%T", e),
				"panic", p, "stack", string(debug.Stack()))
		}
	}()
	l.Observe(e)
}

// info is what events say of run, which this process takes on now.
func (rt *Runtime) info(ctx context.Context, run chat.Run) event.RunInfo {
	i := event.RunInfo{Run: run.ID, Room: run.Room, Source: run.Address.Connector, Start: time.Now()}
	if n := len(run.Inputs); n > 0 {
		i.Message = run.Inputs[n-1]
	}
	if len(rt.listeners) == 0 {
		return i
	}
	ctx, cancel := context.WithTimeout(ctx, coordTimeout)
	defer cancel()
	if m, err := rt.cfg.Store.Memory(ctx, i.Message); err == nil {
		i.Entity = m.Author
	}
	return i
}

// ended is the event of a run's end.
func ended(i event.RunInfo, o answer.Outcome) event.Event {
	now := time.Now()
	end := event.RunEnd{End: now, Duration: now.Sub(i.Start), Status: o.Status}
	if o.Failure != "" {
		end.Err = o.Failure.Sentence()
	}
	if o.Status == answer.TimedOut {
		return event.RunTimeout{RunInfo: i, RunEnd: end}
	}
	return event.RunEnded{RunInfo: i, RunEnd: end}
}
