package core

import (
	"context"
	"errors"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

// lane is one of the two lines of runs that a room has.
type lane struct {
	room    chat.RoomID
	control bool
}

// scheduler gives the open runs of each room their turns.
type scheduler struct {
	rt       *Runtime
	suspects suspects
	parallel *parallel
	signal   chan struct{} // wakes Run

	// Under the runtime's lock.
	lanes map[lane]chan struct{} // those served here; a token makes the runner look again
	woken map[lane]struct{}      // those that Run shall serve
}

func newScheduler(rt *Runtime, most int) scheduler {
	return scheduler{
		rt: rt, signal: make(chan struct{}, 1), lanes: map[lane]chan struct{}{}, woken: map[lane]struct{}{},
		parallel: newParallel(most, func(l lane) { rt.scheduler.wakeLane(l) }),
	}
}

// of are those of runs that go in this lane.
func (l lane) of(runs []chat.Run) (mine []chat.Run) {
	for _, r := range runs {
		if r.Kind.OutOfBand() == l.control {
			mine = append(mine, r)
		}
	}
	return mine
}

// serve runs the lane's turns one after the other, until none is open or another replica has the room. That one looks
// again when its run ends, and what was accepted before that it sees: so no wake-up is lost (IN-08).
func (s *scheduler) serve(stop, life context.Context, l lane, again <-chan struct{}) {
	for {
		wait, err := s.turn(stop, life, l)
		if !errors.Is(err, errQueued) {
			s.parallel.forget(l, "")
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
		s.report(l.room, err)
		if s.release(stop, l, again) {
			return
		}
	}
}

// release lets go of l, unless somebody has asked to look again.
func (s *scheduler) release(stop context.Context, l lane, again <-chan struct{}) bool {
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

// report logs why a turn was not taken, unless that is the usual course of things.
func (s *scheduler) report(room chat.RoomID, err error) {
	for _, usual := range []error{nil, errIdle, errQueued, chat.ErrBusy, answer.ErrLost, chat.ErrShutdown, context.Canceled} {
		if errors.Is(err, usual) {
			return
		}
	}
	s.rt.cfg.Log.Error("a run could not be started; it will be retried", "room", room, "err", err)
}

var errIdle = errors.New("no open run")

// turn starts the run that is due and sees it through, or says how long until one is. An error means that there is
// nothing to do, or nothing that can be done before the next sweep.
func (s *scheduler) turn(stop, life context.Context, l lane) (wait time.Duration, err error) {
	if stop.Err() != nil {
		return 0, chat.ErrShutdown
	}
	open, err := s.rt.cfg.Store.OpenRuns(life, l.room)
	if err != nil {
		return 0, err
	}
	open = l.of(open)
	if len(open) == 0 {
		return 0, errIdle
	}
	policy := s.rt.cfg.Turns.policy(open[0].RoomKind)
	if last := latest(open); policy == Supersede && last.ID != "" && last.Epoch == 0 {
		s.rt.intake.announce(life, l.room, last.Turn()) // once more: the tracker may have forgotten, or been away
	}
	next, wait := s.rt.cfg.Turns.due(open, time.Now())
	if wait > 0 {
		return wait, nil
	}
	if last := latest(open); needsSlot(next, policy == Supersede && last.Response > next.Response) {
		s.parallel.forget(l, next.Address.BilledTo)
		if !s.parallel.enter(l, next) {
			return 0, errQueued
		}
		defer s.parallel.leave(next)
	}
	leave, wait := s.enterSuspect(life, l, next)
	if leave == nil {
		return wait, nil
	}
	defer leave()
	run, err := s.rt.cfg.Store.Start(life, next.ID, s.rt.cfg.Owner)
	if err != nil {
		return 0, err
	}
	return 0, s.rt.execute(life, run)
}
