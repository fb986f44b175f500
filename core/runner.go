package core

import (
	"context"
	"errors"
	"slices"
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
// What finds the run has returned by the time at which the run is carried out. Most of that time, the goroutine waits for a model, and what
// is on its stack is a large part of the memory of an answer under way. For the same reason, functions from here to the model have
// little on the stack.
func (s *scheduler) turn(stop, life context.Context, l schedule.Lane) (wait time.Duration, err error) {
	t, wait, err := s.start(stop, life, l)
	if t == nil {
		return wait, err
	}
	defer t.leave()
	return 0, s.rt.execute(life, t)
}

// turn is a run that this process has started.
type turn struct {
	run   chat.Run
	since int             // the last gap of the lease before the start
	place *schedule.Place // its share of the limits on parallel answers
	leave func()          // is called when this process is done with the run
	waits []chat.Run      // those of the room that wait for an approval meanwhile
}

// start starts the run that is due. It returns nil if there is none, like [scheduler.turn].
//
// A run starts only if it passes, in this order: the turn policy of its room, the bounds on answers for one person and in total, the bound on runs that
// have crashed processes, and last the store, where exactly one process becomes its owner.
func (s *scheduler) start(stop, life context.Context, l schedule.Lane) (t *turn, wait time.Duration, err error) {
	if stop.Err() != nil {
		return nil, 0, chat.ErrShutdown
	}
	if !s.rt.lease.Live() { // others would take what starts now for the run of a dead process; the next heartbeat wakes all rooms
		return nil, 0, errIdle
	}
	open, err := s.store.OpenRuns(life, l.Room)
	if err != nil {
		return nil, 0, err
	}
	open = l.Of(open)
	if len(open) == 0 {
		return nil, 0, errIdle
	}
	policy := s.rt.cfg.Turns.PolicyFor(open[0].RoomKind)
	last := schedule.Latest(open)
	if policy == schedule.Supersede && last.ID != "" && last.Epoch == 0 {
		s.rt.intake.announce(life, l.Room, last.Turn()) // once more: the tracker may have forgotten, or been away
	}
	next, wait, err := s.startable(life, open)
	if err != nil || wait > 0 {
		return nil, wait, err
	}
	taken := next.Ending != "" || next.Kind != chat.RunTask && !next.Lasting && policy == schedule.Supersede && last.Response > next.Response
	place, leave, wait, err := s.enter(life, l, &next, taken)
	if leave == nil {
		return nil, wait, err
	}
	since := s.rt.lease.Gap() // before Start: a gap from then on may have cost us the run
	run, err := s.store.Start(life, next.ID, s.rt.cfg.Owner)
	if err != nil {
		leave()
		return nil, 0, err
	}
	waits := slices.DeleteFunc(open, func(r chat.Run) bool { return !r.Parked || !r.Lasting || r.ID == run.ID })
	return &turn{run, since, place, leave, waits}, 0, nil
}

// enter takes the places that the run needs in this process. If leave is nil, it has to wait: for so long, or until its lane is woken.
// taken reports that the run only ends.
func (s *scheduler) enter(
	ctx context.Context, l schedule.Lane, run *chat.Run, taken bool,
) (place *schedule.Place, leave func(), wait time.Duration, err error) {
	if schedule.NeedsSlot(*run, taken) {
		s.parallel.Forget(l, run.Address.BilledTo)
		entered := false
		if place, entered = s.parallel.Enter(l, *run); !entered {
			return nil, nil, 0, schedule.ErrQueued
		}
	}
	unsuspect, wait := s.enterSuspect(ctx, l, *run)
	if unsuspect == nil {
		place.Leave()
		return nil, nil, wait, nil
	}
	return place, func() { unsuspect(); place.Leave() }, 0, nil
}
