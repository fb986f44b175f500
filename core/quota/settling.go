package quota

import (
	"context"
	"sync"
)

// settling counts the settlements of a run that are being stored. They don't delay the end of its answer: what waits for them are its next
// reservation, which would otherwise find too little left, and the run's own end. It is safe for concurrent use.
type settling struct {
	mu   sync.Mutex
	n    int
	none *sync.Cond
}

func newSettling() *settling {
	s := &settling{}
	s.none = sync.NewCond(&s.mu)
	return s
}

// start stores a settlement beside its caller.
func (s *settling) start(store func()) {
	s.mu.Lock()
	s.n++
	s.mu.Unlock()
	go func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.n--; s.n == 0 {
				s.none.Broadcast()
			}
		}()
		store()
	}()
}

func (s *settling) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.n > 0 {
		s.none.Wait()
	}
}

// WaitSettled waits until what the calls in a context of [WithSpender] cost is stored, which takes five seconds at most for each. The
// maker of such a context calls it before the run counts as ended, and before it returns.
func WaitSettled(ctx context.Context) {
	if p := spenderOf(ctx); p.settling != nil {
		p.settling.wait()
	}
}
