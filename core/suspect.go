package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/core/chat"
	"parley/core/llm"
)

const (
	suspectDeaths = 2               // process deaths after which a run is a suspect
	maxDeaths     = 3               // deaths after which a run is set aside; the last one came during its turn as a suspect
	maxAttempts   = 6               // attempts that asked a model, after which a run is set aside
	minPause      = time.Second     // before the first turn of a suspect; doubles with each death and attempt
	maxPause      = 5 * time.Minute // before any turn of a suspect
)

var errSetAside = &llm.Failure{Kind: llm.SetAside, Err: errors.New("the run is set aside because processes crashed while running it")}

// isSuspect reports whether the run could be what ended earlier processes. A run with a verdict is not: what is left to do is
// the same for every answer.
func isSuspect(r chat.Run) bool { return r.Deaths >= suspectDeaths && r.Verdict == nil }

// isHopeless reports whether the run gets no further attempt.
func isHopeless(r chat.Run) bool {
	return r.Verdict == nil && (r.Deaths >= maxDeaths || r.Attempts >= maxAttempts)
}

// suspectPause returns how long a suspect waits after a process first sees it. Other runs of a crash get that time to end.
func suspectPause(r chat.Run) time.Duration {
	n := max(r.Deaths, r.Attempts) - suspectDeaths
	return min(minPause<<min(n, 10), maxPause)
}

// suspects gives suspects their turns, one at a time: if the process dies during one, that run is most likely the cause.
type suspects struct {
	mu      sync.Mutex
	ready   map[chat.RunID]time.Time // when each that waits may start
	waiting map[lane]bool            // lanes to wake when the turn ends
	busy    bool
}

// enter gives the turn to run if it is ready and no other suspect has the turn. Otherwise leave is nil, and wait is how
// long to wait before the next call.
func (s *suspects) enter(l lane, run chat.Run, now time.Time) (leave func() []lane, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ready, ok := s.ready[run.ID]
	if !ok {
		ready = s.announce(run, now)
	}
	switch {
	case now.Before(ready):
		return nil, ready.Sub(now)
	case s.busy:
		if s.waiting == nil {
			s.waiting = map[lane]bool{}
		}
		s.waiting[l] = true
		return nil, heartbeatEvery
	}
	delete(s.ready, run.ID)
	s.busy = true
	return s.leave, 0
}

// announce notes a suspect that waits, and forgets those that ended otherwise long ago.
func (s *suspects) announce(run chat.Run, now time.Time) (ready time.Time) {
	for id, at := range s.ready {
		if now.Sub(at) > time.Hour {
			delete(s.ready, id)
		}
	}
	if s.ready == nil {
		s.ready = map[chat.RunID]time.Time{}
	}
	ready = now.Add(suspectPause(run))
	s.ready[run.ID] = ready
	return ready
}

// leave ends a turn and returns the lanes that wait for one.
func (s *suspects) leave() (waiting []lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	for l := range s.waiting {
		waiting = append(waiting, l)
	}
	clear(s.waiting)
	return waiting
}

// enterSuspect gives run its turn among the suspects. If leave is nil it has to wait. A run that is stopped or superseded asks
// no model, and needs no turn.
func (s *scheduler) enterSuspect(ctx context.Context, l lane, run chat.Run) (leave func(), wait time.Duration) {
	if !isSuspect(run) || run.Kind.Claims() && s.unclaimable(ctx, run) {
		return func() {}, 0
	}
	end, wait := s.suspects.enter(l, run, time.Now())
	if end == nil {
		return nil, wait
	}
	s.rt.cfg.Log.Warn("retrying a run that crashed processes, one such run at a time",
		"run", run.ID, "deaths", run.Deaths, "attempts", run.Attempts)
	return func() {
		for _, l := range end() {
			s.wakeLane(l)
		}
	}, 0
}

// setAside logs that the run gets no further attempt, and tells the owners where they can be reached.
func (x *execution) setAside() {
	x.rt.cfg.Log.Error("a run is set aside because processes crashed while running it; retry it with `gateway runs retry`",
		"run", x.run.ID, "room", x.run.Room, "deaths", x.run.Deaths, "attempts", x.run.Attempts)
	if x.run.Kind == chat.RunNotify { // it could be this very notice
		return
	}
	rooms, err := x.rt.pairing.ownersRooms(x.life)
	if err != nil {
		x.rt.cfg.Log.Warn("can't find a chat to tell the owner about a run that is set aside", "run", x.run.ID, "err", err)
	}
	for _, room := range rooms {
		_, err := x.rt.Say(x.life, chat.Notice{
			To: chat.Address{Room: room}, Key: fmt.Sprintf("set-aside/%s/%d", x.run.ID, x.run.Retried), Text: setAsideLine,
		})
		if err != nil {
			x.rt.cfg.Log.Warn("can't tell the owner about a run that is set aside", "run", x.run.ID, "err", err)
		}
	}
}

// setAsideLine tells the owner.
const setAsideLine = "I gave up on a message because I crashed each time I tried to answer it. Run `gateway runs` on the machine that runs me to see and retry it."

// unclaimable reports whether the tracker knows that the run was stopped or superseded.
func (s *scheduler) unclaimable(ctx context.Context, run chat.Run) bool {
	ctx, cancel := context.WithTimeout(ctx, coordTimeout)
	defer cancel()
	return settled(s.rt.cfg.Tracker.Settle(ctx, s.rt.cfg.Agent.ID, run.Room, run.Turn())) != nil
}

// countAttempt counts, before the first call of a model, that the run costs something. What is counted survives the process.
func (x *execution) countAttempt(ctx context.Context) error {
	if x.paid {
		return nil
	}
	err := x.persist(ctx, func() error { return x.note(chat.Note{Attempt: true}) })
	x.paid = err == nil
	return err
}

// RetryRun answers a run that was set aside again, see [Journal].
func (rt *Runtime) RetryRun(ctx context.Context, id chat.RunID) error {
	run, err := rt.cfg.Store.Run(ctx, id)
	if err == nil {
		err = rt.cfg.Store.RetryRun(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("retry the run %s: %w", id, err)
	}
	rt.scheduler.wakeLane(lane{run.Room, run.Kind.OutOfBand()})
	return nil
}
