package postgres

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/backends/postgres/postgrestest"
	"parley/core/chat"
)

// DI-02: the server dies under load, and its standby takes over. The store, whose address names both, goes on with the standby without
// being opened again, and everything that was accepted is there.
func TestFailover(t *testing.T) {
	t.Parallel()
	first := postgrestest.Start(t)
	at := first.Create(t, "")
	open(t, at, Options{Several: true}) // makes the tables
	standby := first.Standby(t)
	both := strings.Replace(at, first.Address(), first.Address()+","+standby.Address(), 1) + "&target_session_attrs=read-write&connect_timeout=1"
	s := open(t, both, Options{Several: true})
	var accepted sync.Map
	var n atomic.Int64
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				id := chat.MemoryID(fmt.Sprintf("%d/%d", w, n.Add(1)))
				acc, err := s.Accept(t.Context(), message(chat.RoomID(fmt.Sprint("room ", w)), id), chat.JoinRule{})
				if err == nil {
					accepted.Store(id, acc)
				} else if _, waits := Unavailable(err); !waits {
					t.Errorf("the server failed over, and the error is lasting: %v", err)
					return
				}
			}
		})
	}
	more := func(what string) {
		before := count(&accepted)
		for deadline := time.Now().Add(time.Minute); count(&accepted) < before+30; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("nothing is accepted %s: %v", what, s.Ping(t.Context()))
			}
		}
	}
	more("before the failover")
	first.Kill()
	standby.Promote(t)
	more("after the failover")
	close(stop)
	writers.Wait()
	accepted.Range(func(id, was any) bool {
		acc, err := s.Known(t.Context(), message("", id.(chat.MemoryID)).Memory)
		want := was.(chat.Accepted)
		want.Duplicate = true
		if err != nil || acc != want {
			t.Errorf("%s was accepted as %+v, and is known as %+v, %v", id, want, acc, err)
		}
		return true
	})
}
