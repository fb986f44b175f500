package schedule

import (
	"errors"
	"sync"
	"time"

	"parley/core/chat"
	"parley/core/llm"
)

const (
	maxBlamed   = 3               // crashes that a run probably caused, until the gateway gives up on it
	maxDeaths   = 12              // crashes for whatever reason, until the gateway gives up on it
	maxAttempts = 6               // attempts that called a model, until the gateway gives up on it
	minPause    = time.Second     // before the first turn of a suspect; doubles with each death and attempt
	maxPause    = 5 * time.Minute // before any turn of a suspect
)

// ErrSetAside is the failure of a run that is not tried again.
var ErrSetAside = &llm.Failure{Kind: llm.SetAside, Err: errors.New("the run is set aside because processes crashed while running it")}

// IsSuspect reports whether the run could be the cause of earlier crashes: it was running at the time. A run with a
// verdict is not suspected: its remaining work is the same for every answer.
func IsSuspect(r *chat.Run) bool { return r.Deaths >= chat.SuspectDeaths && r.Verdict == nil }

// IsExhausted reports whether the run gets no further attempt. Without this bound, one message that crashes the process
// would crash every process that adopts its run, and no other message would ever be answered. Deaths that others may
// have caused only make it a suspect: each process retries one of these at a time, so a further death is blamed on it.
func IsExhausted(r *chat.Run) bool {
	return r.Verdict == nil && (r.Blamed >= maxBlamed || r.Deaths >= maxDeaths || r.Attempts >= maxAttempts)
}

// suspectPause returns how long a suspect waits after a process first sees it. The other runs that were open at the
// crash get that time to end, so that they are no suspects if the process dies again.
func suspectPause(r chat.Run) time.Duration {
	n := max(r.Deaths, r.Attempts) - chat.SuspectDeaths
	return min(minPause<<min(n, 10), maxPause)
}

// Suspects gives suspects their turns, one at a time: if the process crashes during one, that run is most likely the
// cause. The zero value is ready. It is safe for concurrent use.
type Suspects struct {
	mu      sync.Mutex
	ready   map[chat.RunID]time.Time // when each that waits may start
	waiting map[Lane]bool            // lanes to wake when the turn ends
	busy    bool
}

// Enter gives the turn to run if it is ready and no other suspect has the turn. Then leave must be called when the run
// has ended; it returns the lanes to wake. Otherwise leave is nil, and wait is how long to wait before the next call.
func (s *Suspects) Enter(l Lane, run chat.Run, now time.Time) (leave func() []Lane, wait time.Duration) {
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
			s.waiting = map[Lane]bool{}
		}
		s.waiting[l] = true
		return nil, HeartbeatEvery
	}
	delete(s.ready, run.ID)
	s.busy = true
	return s.leave, 0
}

// announce records a suspect that waits, and deletes those that ended otherwise long ago.
func (s *Suspects) announce(run chat.Run, now time.Time) (ready time.Time) {
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
func (s *Suspects) leave() (waiting []Lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	for l := range s.waiting {
		waiting = append(waiting, l)
	}
	clear(s.waiting)
	return waiting
}
