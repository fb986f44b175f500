//go:build unix

package postgres

import (
	"strings"
	"testing"
	"time"

	"parley/backends/postgres/postgrestest"
	"parley/core/chat"
	"parley/internal/require"
)

// DI-03: a server that is paused answers nothing and closes nothing. Calls end with a reason that passes, readiness is refused at once, and
// when the server goes on, so does the store. Nothing that was refused is there twice.
func TestPausedServer(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	s := open(t, server.Create(t, ""), Options{})
	accept := func(id chat.MemoryID) error {
		_, err := s.Accept(t.Context(), message("room", id), chat.JoinRule{})
		return err
	}
	require.NoError(t, accept("room/1"))
	server.Pause(t)
	paused := true
	t.Cleanup(func() {
		if paused {
			server.Continue(t)
		}
	})
	begun := time.Now()
	err := accept("room/2")
	if reason, passes := Unavailable(err); !passes || !strings.Contains(reason, "does not answer") {
		t.Errorf("a message is accepted with %v", err)
	}
	if took := time.Since(begun); took > 3*patience {
		t.Errorf("that took %v", took)
	}
	begun = time.Now()
	if err := s.Ping(t.Context()); err == nil || time.Since(begun) > time.Second {
		t.Errorf("readiness after %v: %v", time.Since(begun), err)
	}
	server.Continue(t)
	paused = false
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if err = accept("room/2"); err == nil && s.Ping(t.Context()) == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the server is back: %v, %v", err, s.Ping(t.Context()))
		}
	}
	if runs, err := s.OpenRuns(t.Context(), "room"); err != nil || len(runs) > 2 {
		t.Errorf("there are %d runs, %v; want at most 2", len(runs), err)
	}
}

// DI-14: the server of tests runs without fsync, and a gateway says so.
func TestUnsafeSettings(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	s := open(t, url, Options{})
	const want = "fsync and full_page_writes are off on the PostgreSQL server"
	if text, err := s.Warning(t.Context()); err != nil || !strings.HasPrefix(text, want) {
		t.Errorf("%q, %v; want it to begin with %q", text, err, want)
	}
	if text, _, err := Describe(t.Context(), url); err != nil || !strings.Contains(text, "Warning: "+want) {
		t.Errorf("%q, %v", text, err)
	}
}
