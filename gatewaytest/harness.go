// Package gatewaytest starts, stops, crashes and checks whole gateways in tests. docs/engineering/testing.md explains how its parts and
// those of the packages that use it work together.
package gatewaytest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/storage"
	"parley/internal/require"
	"parley/sim"
)

// A Harness is everything that outlives the processes of a gateway in one test. Its methods can be called from several goroutines, except
// where they end the test.
type Harness struct {
	*testing.T
	Logged *sim.Log      // of all processes
	Store  storage.Store // without faults; the test sets it
}

// Run calls test with a harness, in a bubble with a clock of its own: sleeping takes no time there. See [synctest.Test].
func Run(t *testing.T, test func(*Harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(New(t)) })
}

// private matches what no log may contain: ids of conversations on the web, tokens of visitors, programs, accounts and bots, and keys.
var private = regexp.MustCompile(`(?:web/|conversations/)[0-9a-f]{32,40}|visitor_[\w-]{20,}|parley_[A-Z2-7]{20,}|eyJ[\w-]+\.[\w-]+\.[\w-]+|\bsk-[\w-]{8,}|\b\d{8,10}:[\w-]{35}\b|Bearer [\w-]{8,}`)

// New returns a harness for a test on the real clock. The log is shown if the test fails.
func New(t *testing.T) *Harness {
	h := &Harness{T: t, Logged: &sim.Log{}}
	t.Cleanup(func() {
		if leak := private.FindString(h.Logged.String()); leak != "" {
			t.Errorf("the log contains %q", leak)
		}
		if t.Failed() {
			t.Logf("log:\n%s", h.Logged)
		}
	})
	return h
}

// Logger returns a logger that writes all levels from least to the log.
func (h *Harness) Logger(least slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(h.Logged, &slog.HandlerOptions{Level: least}))
}

// Must ends the test if err is not nil.
func (h *Harness) Must(err error) {
	h.Helper()
	require.NoError(h, err)
}

// Pass moves the clock of a bubble forward, and waits until all its goroutines are blocked.
func (h *Harness) Pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// WaitRun waits in a bubble until a run has ended, for at most five minutes, and returns it.
func (h *Harness) WaitRun(id chat.RunID) chat.Run {
	h.Helper()
	for begun := time.Now(); ; time.Sleep(100*time.Millisecond + time.Since(begun)/4) {
		r := require.Value(h.Store.Run(h.Context(), id))(h)
		if r.Outcome.Done() {
			synctest.Wait()
			return r
		}
		if time.Since(begun) > 5*time.Minute {
			h.Fatalf("run %s has not ended after five minutes: %+v", id, r)
		}
	}
}

// WaitIdle waits in a bubble until no room has a run that has not ended, for at most two hours.
func (h *Harness) WaitIdle() {
	h.Helper()
	for range 2 * 3600 {
		synctest.Wait()
		open := require.Value(h.Store.OpenRooms(h.Context()))(h)
		if len(open) == 0 {
			return
		}
		time.Sleep(time.Second)
	}
	h.Fatal("a run has not ended after two hours")
}

// A Watcher is a process that answers can be read from.
type Watcher interface {
	Watch(context.Context, chat.RunID) (*answer.Answer, error)
}

// ReadAnswer reads an answer to its end as a live stream does. It returns the changes and the last view.
func ReadAnswer(ctx context.Context, p Watcher, id chat.RunID) (all []answer.Change, _ answer.View, _ error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := p.Watch(ctx, id)
	if err != nil {
		return nil, answer.View{}, err
	}
	var at answer.Cursor
	for {
		switch err := a.Wait(ctx, at); {
		case errors.Is(err, io.EOF):
			return all, a.View(), nil
		case err != nil:
			return all, a.View(), err
		}
		var changes []answer.Change
		changes, at = a.Since(at)
		all = append(all, changes...)
	}
}

// AddRuns adds to e the first runs of each room, at most most, and the stored messages.
func (h *Harness) AddRuns(e *sim.Evidence, most int, rooms ...chat.RoomID) {
	for _, room := range rooms {
		for n := range most + 1 {
			if r, err := h.Store.Run(h.Context(), chat.RunID(fmt.Sprintf("%s#%d", room, n))); err == nil {
				e.Runs = append(e.Runs, r)
			}
		}
	}
	e.Stored = func(id chat.MemoryID) (chat.Memory, bool) {
		m, err := h.Store.Memory(h.Context(), id)
		return m, err == nil
	}
}
