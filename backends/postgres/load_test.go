package postgres

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/core/chat"
)

// load is writers that have a store accept one message after the other, while its server is killed.
type load struct {
	store    *Store
	accepted sync.Map // chat.MemoryID -> chat.Accepted
	n        atomic.Int64
	stop     chan struct{}
	writers  sync.WaitGroup
}

// acceptAll starts writers, which share four rooms. Errors that say to wait are expected; others fail the test.
func acceptAll(t *testing.T, s *Store, writers int) *load {
	l := &load{store: s, stop: make(chan struct{})}
	for w := range writers {
		l.writers.Go(func() { l.write(t, w) })
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) write(t *testing.T, writer int) {
	for {
		select {
		case <-l.stop:
			return
		default:
		}
		id := chat.MemoryID(fmt.Sprintf("%d/%d", writer, l.n.Add(1)))
		acc, err := l.store.Accept(t.Context(), message(chat.RoomID(fmt.Sprint("room ", writer%4)), id), chat.JoinRule{})
		if err == nil {
			l.accepted.Store(id, acc)
		} else if _, waits := Unavailable(err); !waits && t.Context().Err() == nil {
			t.Errorf("the server went away, and the error is lasting: %v", err)
			return
		}
	}
}

// end stops the writers and waits for them.
func (l *load) end() {
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.writers.Wait()
}

func (l *load) count() (n int) {
	l.accepted.Range(func(any, any) bool { n++; return true })
	return n
}

// more waits until n more messages are accepted.
func (l *load) more(t *testing.T, n int) {
	t.Helper()
	before := l.count()
	for deadline := time.Now().Add(time.Minute); l.count() < before+n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d messages were accepted within a minute: %v", l.count()-before, n, l.store.Ping(t.Context()))
		}
	}
}

// check ends the load and fails for each message that was accepted and is not there.
func (l *load) check(t *testing.T) {
	t.Helper()
	l.end()
	l.accepted.Range(func(id, was any) bool {
		acc, err := l.store.Known(t.Context(), message("", id.(chat.MemoryID)).Memory)
		want := was.(chat.Accepted)
		want.Duplicate = true
		if err != nil || acc != want {
			t.Errorf("%s was accepted as %+v, and is known as %+v, %v", id, want, acc, err)
		}
		return true
	})
}
