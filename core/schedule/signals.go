package schedule

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"parley/core/chat"
)

const (
	waitShown    = 2 * time.Second  // a question that waits for less shows nothing
	refusedAgain = 10 * time.Minute // between two signals to an author without access in a room
	signalTime   = 30 * time.Second // of the requests of one signal
	mostSignals  = 256              // under way; further ones are dropped
)

// Signals shows at a question that it waits for other answers, that it is being answered, or that its author has no access, on platforms
// that can. A signal is not essential: a failure is only logged for debugging. Its exported fields are set before use. It is safe for
// concurrent use.
type Signals struct {
	// Request returns the request that shows s, or nil if its platform shows nothing. Nil: no platform does. The context ends only the wait
	// for a permit; then nothing was shown.
	Request func(s chat.Signal) func(ctx context.Context) error
	Store   interface {
		Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	}
	Log *slog.Logger

	work     sync.WaitGroup
	mu       sync.Mutex
	closed   bool
	underWay int
	refused  map[refusedAuthor]time.Time // when an author was last shown that they have no access
}

type refusedAuthor struct {
	room   chat.RoomID
	author chat.EntityID
}

// Close waits for the signals under way. Later ones are dropped.
func (s *Signals) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
}

// Opened shows that m waits, unless its run starts soon. window is the time that the run waits for more messages.
func (s *Signals) Opened(m chat.Message, run chat.RunID, window time.Duration) {
	wait := chat.Signal{To: m.Address.Later(), Messages: []chat.MemoryID{m.ID}, Is: chat.Waiting}
	show := s.request(wait)
	if show == nil {
		return
	}
	begun := func(ctx context.Context) bool {
		r, err := s.Store.Run(ctx, run)
		return err != nil || r.Epoch > 0 || r.Outcome.Done()
	}
	time.AfterFunc(window+waitShown, func() {
		s.spawn(func(ctx context.Context) {
			if begun(ctx) {
				return
			}
			s.report(show(ctx))
			if begun(ctx) { // meanwhile, perhaps before the status was shown
				s.show(ctx, chat.Signal{To: wait.To, Messages: wait.Messages, Was: chat.Waiting})
			}
		})
	})
}

// Started shows that the questions of a run are being answered. ended ends that: a request that still waits is not made, unless it replaces
// an earlier status.
func (s *Signals) Started(r chat.Run) (ended func()) {
	now := signalOf(r)
	replaces := now.Was != chat.NoStatus
	now.Is = chat.Working
	running, end := context.WithCancelCause(context.Background())
	shown, hidden := make(chan struct{}), false
	show := s.request(now)
	if show == nil || !s.spawn(func(ctx context.Context) {
		defer close(shown)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if !replaces {
			defer context.AfterFunc(running, func() { cancel(errAnswered) })()
		}
		err := show(ctx)
		hidden = errors.Is(err, errAnswered)
		s.report(err)
	}) {
		close(shown)
	}
	now.Was, now.Is = chat.Working, chat.NoStatus
	return func() {
		end(errAnswered)
		if show := s.request(now); show != nil {
			s.spawn(func(ctx context.Context) {
				if <-shown; !hidden {
					s.report(show(ctx))
				}
			})
		}
	}
}

// errAnswered is the error of a request that is no longer needed.
var errAnswered = errors.New("the question has been answered")

// Dropped removes the status of a run that ends without having been answered.
func (s *Signals) Dropped(r chat.Run) {
	if now := signalOf(r); now.Was != chat.NoStatus {
		s.spawn(func(ctx context.Context) { s.show(ctx, now) })
	}
}

// signalOf returns a signal about the questions of r, which starts or ends now. If it has waited for long, that is shown.
func signalOf(r chat.Run) chat.Signal {
	now := chat.Signal{To: r.Address.Later(), Messages: r.Inputs}
	if r.Kind.Claims() && time.Since(r.Opened) >= waitShown {
		now.Was = chat.Waiting
	}
	return now
}

// Refused shows the author of m, from time to time, that they have no access.
func (s *Signals) Refused(m chat.Message) {
	key, at := refusedAuthor{m.Room, m.Author}, time.Now()
	s.mu.Lock()
	for k, last := range s.refused {
		if at.Sub(last) >= refusedAgain {
			delete(s.refused, k)
		}
	}
	_, lately := s.refused[key]
	if lately = lately || len(s.refused) >= mostSignals; !lately {
		if s.refused == nil {
			s.refused = map[refusedAuthor]time.Time{}
		}
		s.refused[key] = at
	}
	s.mu.Unlock()
	if !lately {
		s.spawn(func(ctx context.Context) {
			s.show(ctx, chat.Signal{To: m.Address.Later(), Messages: []chat.MemoryID{m.ID}, Is: chat.NoAccess})
		})
	}
}

// request returns the request that shows sig, or nil.
func (s *Signals) request(sig chat.Signal) func(context.Context) error {
	if s.Request == nil || len(sig.Messages) == 0 {
		return nil
	}
	return s.Request(sig)
}

func (s *Signals) show(ctx context.Context, sig chat.Signal) {
	if show := s.request(sig); show != nil {
		s.report(show(ctx))
	}
}

func (s *Signals) report(err error) {
	if err != nil {
		s.Log.Debug("the status of a question can't be shown", "err", err)
	}
}

// spawn calls do in a goroutine that Close waits for, and reports whether it does.
func (s *Signals) spawn(do func(ctx context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.Request == nil || s.underWay >= mostSignals {
		return false
	}
	s.underWay++
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), signalTime)
		defer cancel()
		do(ctx)
		s.mu.Lock()
		s.underWay--
		s.mu.Unlock()
	})
	return true
}
