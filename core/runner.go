package core

import (
	"context"
	"errors"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
)

// scheduler gives the open runs of each room their turns. Each room has two lanes: one for answers, where turns follow one another, and
// one for control, so that commands and choices need not wait for an answer. A lane that has something to do has a runner, which is a
// goroutine of its own in [Runtime.Run]'s care.
type scheduler struct {
	rt       *Runtime
	store    scheduleStore
	suspects schedule.Suspects
	outage   schedule.Outage // of the heartbeat
	parallel *schedule.Parallel
	signal   chan struct{} // wakes Run

	// Under the runtime's lock.
	lanes map[schedule.Lane]chan struct{} // those served here; a token makes the runner look again
	woken map[schedule.Lane]struct{}      // those that Run shall serve
}

func newScheduler(rt *Runtime, store scheduleStore, most, total int) scheduler {
	return scheduler{
		rt: rt, store: store, signal: make(chan struct{}, 1), lanes: map[schedule.Lane]chan struct{}{}, woken: map[schedule.Lane]struct{}{},
		parallel: schedule.NewParallel(most, total, func(l schedule.Lane) { rt.scheduler.wakeLane(l) }),
	}
}

// serve runs the lane's turns one after the other, until none is open or another replica has the room. No wake-up is lost by
// that: the other replica looks at the store again when its run ends, and sees what was accepted here meanwhile.
func (s *scheduler) serve(stop, life context.Context, l schedule.Lane, again <-chan struct{}) {
	for {
		wait, err := s.turn(stop, life, l)
		if !errors.Is(err, schedule.ErrQueued) {
			s.parallel.Forget(l, "")
		}
		if err == nil {
			select {
			case <-time.After(wait):
				continue
			case <-again:
				continue
			case <-stop.Done():
			}
		}
		s.report(l.Room, err)
		if s.release(stop, l, again) {
			return
		}
	}
}

// release ends the runner of l, unless it was woken again. Both happen under the lock under which wakeLane finds the runner: otherwise
// a token could be left for a runner that has just ended.
func (s *scheduler) release(stop context.Context, l schedule.Lane, again <-chan struct{}) bool {
	s.rt.mu.Lock()
	defer s.rt.mu.Unlock()
	select {
	case <-again:
		if stop.Err() == nil {
			return false
		}
	default:
	}
	delete(s.lanes, l)
	return true
}

// report logs why no turn was taken, unless that is expected.
func (s *scheduler) report(room chat.RoomID, err error) {
	for _, usual := range []error{nil, errIdle, schedule.ErrQueued, chat.ErrBusy, answer.ErrLost, chat.ErrShutdown, context.Canceled} {
		if errors.Is(err, usual) {
			return
		}
	}
	s.rt.cfg.Log.Error("a run could not be started; it will be retried", "room", room, "err", err)
}

var errIdle = errors.New("no open run")

// turn starts the run that is due and carries it out, or returns how long it takes until one is due. An error means that there is
// nothing to do, or nothing that can be done before the next heartbeat.
//
// A run starts only if it passes, in this order: the turn policy of its room, the bounds on answers for one person and in total, the bound on runs that
// have crashed processes, and last the store, where exactly one process becomes its owner.
func (s *scheduler) turn(stop, life context.Context, l schedule.Lane) (wait time.Duration, err error) {
	if stop.Err() != nil {
		return 0, chat.ErrShutdown
	}
	if !s.rt.lease.Live() { // others would take what starts now for the run of a dead process; the next heartbeat wakes all rooms
		return 0, errIdle
	}
	open, err := s.store.OpenRuns(life, l.Room)
	if err != nil {
		return 0, err
	}
	open = l.Of(open)
	if len(open) == 0 {
		return 0, errIdle
	}
	policy := s.rt.cfg.Turns.PolicyFor(open[0].RoomKind)
	if last := schedule.Latest(open); policy == schedule.Supersede && last.ID != "" && last.Epoch == 0 {
		s.rt.intake.announce(life, l.Room, last.Turn()) // once more: the tracker may have forgotten, or been away
	}
	next, wait, err := s.startable(life, open)
	if err != nil || wait > 0 {
		return wait, err
	}
	if last := schedule.Latest(open); schedule.NeedsSlot(next, next.Ending != "" || next.Kind != chat.RunTask && policy == schedule.Supersede && last.Response > next.Response) {
		s.parallel.Forget(l, next.Address.BilledTo)
		if !s.parallel.Enter(l, next) {
			return 0, schedule.ErrQueued
		}
		defer s.parallel.Leave(next)
	}
	leave, wait := s.enterSuspect(life, l, next)
	if leave == nil {
		return wait, nil
	}
	defer leave()
	since := s.rt.lease.Gap() // before Start: a gap from then on may have cost us the run
	run, err := s.store.Start(life, next.ID, s.rt.cfg.Owner)
	if err != nil {
		return 0, err
	}
	return 0, s.rt.execute(life, run, since)
}
