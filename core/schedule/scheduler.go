package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

// Store contains the store methods of a [Scheduler].
type Store interface {
	OpenRuns(ctx context.Context, room chat.RoomID) ([]chat.Run, error)
	RetryRun(ctx context.Context, id chat.RunID) error
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error)
}

// Executor executes turns with the current configuration.
type Executor interface {
	// Policy returns the policy of turns.
	Policy() TurnPolicy
	// Execute executes a turn. An error leaves the run open for the next attempt. life ends when the process must.
	Execute(life context.Context, t *Turn) error
}

// Scheduler starts the open runs of each room. Each room has two lanes: one for answers, where turns follow one another, and
// one for control, so that commands and choices need not wait for an answer. Its exported fields are set before Run, which is called once.
type Scheduler struct {
	Store     Store
	Heartbeat *Heartbeat
	Lanes     *Lanes
	Parallel  *Parallel
	Claims    *Claims
	Parked    *ParkedRuns
	Log       *slog.Logger
	Executor  Executor

	suspects Suspects
}

// Turn is a run that this process has started.
type Turn struct {
	Run   chat.Run
	Gap   int        // the last gap of the lease before the start, see [Lease.Confirm]
	Place *Place     // its share of the limits on parallel answers
	Waits []chat.Run // runs of the room that wait for an approval meanwhile

	leave func() // called when this process is done with the run
}

// Run serves the lanes until ctx is done. Then nothing new starts, and runs can end within the grace; the others are
// canceled with [chat.ErrShutdown] and adopted at the next start. drained is called when no room is served any more.
// Then the lease ends, and Run returns.
//
// Two contexts are in use. The end of ctx stops new starts. life, its child without its end, is the context of runs: it
// ends only after the grace, or the end of a deployment would interrupt every answer.
func (s *Scheduler) Run(ctx context.Context, grace time.Duration, drained func()) {
	life, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	tick := time.NewTicker(HeartbeatEvery)
	defer tick.Stop()
	s.Heartbeat.beat(life)
	// After the end of ctx each of these is received from once: stop is set to nil, and over is created then.
	var over <-chan time.Time
	stop := ctx.Done()
	for {
		select {
		case <-s.Lanes.signal:
			s.Lanes.serveWoken(func(l Lane, again <-chan struct{}) { s.serve(ctx, life, l, again) })
		case <-tick.C:
			s.Heartbeat.beat(life)
		case <-stop:
			stop = nil
			s.Lanes.close()
			s.Heartbeat.leaving(life)
			over = time.After(grace)
			s.Lanes.drain()
		case <-over:
			abort(chat.ErrShutdown)
		case <-s.Lanes.drained:
			drained()
			s.Heartbeat.left(context.WithoutCancel(ctx))
			return
		}
	}
}

// serve runs the lane's turns one after the other, until none is open or another replica has the room. No wake-up is lost: when its run
// ends, the other replica rereads the store and finds messages accepted here.
func (s *Scheduler) serve(stop, life context.Context, l Lane, again <-chan struct{}) {
	for {
		wait, err := s.turn(stop, life, l)
		if !errors.Is(err, ErrQueued) {
			s.Parallel.Forget(l, "")
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
		if s.Lanes.release(stop, l, again) {
			return
		}
	}
}

// report logs the reason why no turn was taken, unless that is expected.
func (s *Scheduler) report(room chat.RoomID, err error) {
	for _, usual := range []error{nil, errIdle, ErrQueued, chat.ErrBusy, answer.ErrLost, chat.ErrShutdown, context.Canceled} {
		if errors.Is(err, usual) {
			return
		}
	}
	s.Log.Error("a run could not be started; it will be retried", "room", room, "err", err)
}

var errIdle = errors.New("no open run")

// turn starts and executes the due run, or returns the time until one is due. It fails if there is nothing to do, or
// nothing that can be done before the next heartbeat.
//
// The functions that find the run have returned before it is executed. Most of that time, the goroutine waits for a
// model, and its stack is a large part of the memory of an answer in progress. For the same reason, functions from here
// to the model keep little on the stack.
func (s *Scheduler) turn(stop, life context.Context, l Lane) (wait time.Duration, err error) {
	t, wait, err := s.start(stop, life, l)
	if t == nil {
		return wait, err
	}
	defer t.leave()
	return 0, s.Executor.Execute(life, t)
}

// start starts the due run. It returns nil if there is none, like [Scheduler.turn].
//
// A run starts only if it passes, in this order: the turn policy of its room, the limits on answers for one person and
// in total, the limit on runs that have crashed processes, and last the store, where exactly one process becomes its
// owner. It fails with errIdle if there is nothing to do, and with the error of the store.
func (s *Scheduler) start(stop, life context.Context, l Lane) (t *Turn, wait time.Duration, err error) {
	if stop.Err() != nil {
		return nil, 0, chat.ErrShutdown
	}
	if !s.Heartbeat.Lease.Live() { // others could adopt the run of an expired lease at once; the next heartbeat wakes all rooms
		return nil, 0, errIdle
	}
	open, err := s.Store.OpenRuns(life, l.Room)
	if err != nil {
		return nil, 0, err
	}
	open = l.Of(open)
	if len(open) == 0 {
		return nil, 0, errIdle
	}
	turns := s.Executor.Policy()
	policy := turns.PolicyFor(open[0].RoomKind)
	last := Latest(open)
	if policy == Supersede && last.ID != "" && last.Epoch == 0 {
		s.Claims.Announce(life, l.Room, last.Turn()) // once more: the tracker may have lost it, or been unreachable
	}
	next, wait, err := s.startable(life, turns, open)
	if err != nil || wait > 0 {
		return nil, wait, err
	}
	taken := next.Ending != "" || !next.Kind.Apart() && !next.Lasting && policy == Supersede && last.Response > next.Response
	place, leave, wait, err := s.enter(life, l, &next, taken)
	if leave == nil {
		return nil, wait, err
	}
	gap := s.Heartbeat.Lease.Gap() // before Start: during a later gap, another process may have adopted the run
	run, err := s.Store.Start(life, next.ID, s.Heartbeat.Owner)
	if err != nil {
		leave()
		return nil, 0, err
	}
	waits := slices.DeleteFunc(open, func(r chat.Run) bool { return !r.Parked || !r.Lasting || r.ID == run.ID })
	return &Turn{Run: run, Gap: gap, Place: place, Waits: waits, leave: leave}, 0, nil
}

// startable returns the run among open that starts next and the time until then, or errIdle. If a later turn takes the
// room of a parked run, it wakes that run to end as superseded.
func (s *Scheduler) startable(ctx context.Context, turns TurnPolicy, open []chat.Run) (next chat.Run, wait time.Duration, err error) {
	next, wait, ok := turns.Due(open, time.Now())
	if !ok {
		return next, 0, errIdle
	}
	if next.Parked && turns.Taken(open, next) {
		err = s.Parked.End(ctx, next.ID, next.Room, answer.Superseded)
	}
	return next, wait, err
}

// enter takes the places that the run needs in this process. If leave is nil, the run has to wait: for this time, or
// until its lane is woken. taken reports that the run only ends.
func (s *Scheduler) enter(ctx context.Context, l Lane, run *chat.Run, taken bool) (place *Place, leave func(), wait time.Duration, err error) {
	if NeedsSlot(*run, taken) {
		s.Parallel.Forget(l, run.Address.BilledTo)
		entered := false
		if place, entered = s.Parallel.Enter(l, *run); !entered {
			return nil, nil, 0, ErrQueued
		}
	}
	unsuspect, wait := s.enterSuspect(ctx, l, run)
	if unsuspect == nil {
		place.Leave()
		return nil, nil, wait, nil
	}
	return place, func() { unsuspect(); place.Leave() }, 0, nil
}

// enterSuspect gives a suspect its turn. Suspects are runs of processes that crashed; each process retries one of
// them at a time, so that the next crash shows which one is the cause. If leave is nil the run has to wait. A stopped
// or superseded run calls no model, and needs no turn.
func (s *Scheduler) enterSuspect(ctx context.Context, l Lane, run *chat.Run) (leave func(), wait time.Duration) {
	if !IsSuspect(run) || s.Claims.Settle(ctx, run) != nil {
		return func() {}, 0
	}
	end, wait := s.suspects.Enter(l, *run, time.Now())
	if end == nil {
		return nil, wait
	}
	s.Log.Warn("retrying a run that crashed processes, one such run at a time",
		"run", run.ID, "deaths", run.Deaths, "blamed", run.Blamed, "attempts", run.Attempts)
	return func() {
		for _, l := range end() {
			s.Lanes.Wake(l)
		}
	}, 0
}

// RetryRun answers a run again that was given up, see [storage.Retries]. It fails with the errors of
// [storage.Retries.RetryRun].
func (s *Scheduler) RetryRun(ctx context.Context, id chat.RunID) error {
	run, err := s.Store.Run(ctx, id)
	if err == nil {
		err = s.Store.RetryRun(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("retry the run %s: %w", id, err)
	}
	s.Lanes.Wake(Lane{Room: run.Room, Control: run.Kind.OutOfBand()})
	return nil
}
