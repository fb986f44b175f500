package schedule

import (
	"context"
	"sync"

	"parley/core/chat"
)

// Lanes are the lanes with work in this process. Each of them has a runner, which is a goroutine, and a lane without
// work has none: a room without new messages costs nothing. It is safe for concurrent use.
type Lanes struct {
	signal  chan struct{}  // a token makes the scheduler start runners
	work    sync.WaitGroup // runners, and jobs in the background
	drained chan struct{}  // see Drained

	// mu guards the fields below. It is held for moments only, and never while other code is called.
	mu         sync.Mutex
	closed     bool                   // nothing new is accepted or started
	served     map[Lane]chan struct{} // lanes with a runner; a token makes it look again
	woken      map[Lane]struct{}      // lanes that get one
	background Background
}

// NewLanes returns lanes without any work.
func NewLanes() *Lanes {
	return &Lanes{signal: make(chan struct{}, 1), drained: make(chan struct{}), served: map[Lane]chan struct{}{}, woken: map[Lane]struct{}{}}
}

// WakeRoom makes this process look for answers of room that are due. See [Lanes.Wake].
func (ls *Lanes) WakeRoom(room chat.RoomID) { ls.Wake(Lane{Room: room}) }

// Wake makes this process look for turns of a lane. It never blocks. If a runner is at work there it gets a token,
// which it consumes only before it reads the store: so it always finds a turn that was stored before this call.
func (ls *Lanes) Wake(l Lane) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if again, ok := ls.served[l]; ok {
		signal(again)
		return
	}
	ls.woken[l] = struct{}{}
	signal(ls.signal)
}

// signal leaves a token, unless one is there. One is enough: it makes the receiver look at everything.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Closed reports whether the process is ending: it accepts no more events.
func (ls *Lanes) Closed() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.closed
}

// Drained returns a channel that is closed when the process, after the shutdown has begun, writes no more answers.
func (ls *Lanes) Drained() <-chan struct{} { return ls.drained }

// close makes Closed true: inbound events are refused, and connectors don't acknowledge them, so that the platforms
// deliver them again after the next start. No further runner or job starts.
func (ls *Lanes) close() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.closed = true
}

// drain closes Drained once all runners and jobs have ended. It is called after close.
func (ls *Lanes) drain() {
	go func() { ls.work.Wait(); close(ls.drained) }()
}

// serveWoken gives each woken lane a runner, which calls serve.
func (ls *Lanes) serveWoken(serve func(l Lane, again <-chan struct{})) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for l := range ls.woken {
		delete(ls.woken, l)
		if ls.closed || ls.served[l] != nil {
			continue
		}
		again := make(chan struct{}, 1)
		ls.served[l] = again
		ls.work.Go(func() { serve(l, again) })
	}
}

// release ends the runner of l, unless it was woken again. It holds the same lock as Wake: otherwise a token could be
// left for a runner that has just ended.
func (ls *Lanes) release(stop context.Context, l Lane, again <-chan struct{}) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	select {
	case <-again:
		if stop.Err() == nil {
			return false
		}
	default:
	}
	delete(ls.served, l)
	return true
}

// Background does work of a room that no turn waits for, see [Background.Start]. It is called while the room is served,
// so that the scheduler, which waits for the runners, waits for this work, too.
func (ls *Lanes) Background(life context.Context, room chat.RoomID, do func(ctx context.Context)) (ok, first bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed {
		return false, false
	}
	return ls.background.Start(life, room, do, ls.work.Go)
}

// Lane is one of the two run queues of a room: that of answers, and that of control runs (commands, and results of
// choices), which are short and must not wait behind an answer.
type Lane struct {
	Room    chat.RoomID
	Control bool
}

// Of returns the runs that belong to this lane.
func (l Lane) Of(runs []chat.Run) (mine []chat.Run) {
	for _, r := range runs {
		if r.Kind.OutOfBand() == l.Control {
			mine = append(mine, r)
		}
	}
	return mine
}
