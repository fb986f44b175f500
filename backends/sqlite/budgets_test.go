package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/core/chat"
	"parley/internal/require"
	"parley/progressive"
)

func window(scope progressive.Scope, until time.Time) progressive.ChangedWindow {
	return progressive.ChangedWindow{
		Scope: scope, Until: until,
		Window: progressive.Window{Left: []time.Time{until.Add(-time.Second)}, Held: until, Allowed: 3},
	}
}

func (s *Store) begun(t *testing.T) progressive.SavedWindows {
	t.Helper()
	saved := require.Value(s.BeginWindows(t.Context()))(t)
	return saved
}

// ST-28: what was spent outlives the process, with how that ended; what does not matter any more is forgotten.
func TestWindowsOutliveTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	if got := s.begun(t); got.Known || got.Ended || len(got.Windows) > 0 {
		t.Errorf("at first there is %+v", got)
	}
	a, over := window("a/1", time.Now().Add(time.Hour)), window("b/1", time.Now().Add(-time.Second))
	for _, end := range []bool{false, true} {
		require.NoError(t, s.SaveWindows(t.Context(), []progressive.ChangedWindow{a, over}, end))
		require.NoError(t, s.Close())
		s = open(t, path)
		want := progressive.SavedWindows{Windows: map[progressive.Scope]progressive.Window{"a/1": a.Window}, Known: true, Ended: end}
		if diff := cmp.Diff(want, s.begun(t), cmpopts.EquateApproxTime(0)); diff != "" {
			t.Errorf("after an end that was told: %v (-want +got):\n%s", end, diff)
		}
	}
	var rows int
	if err := s.readers.QueryRow(`SELECT count(*) FROM windows`).Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows, %v; want the window and how it ended", rows, err)
	}
	if got := s.begun(t); !got.Known || got.Ended {
		t.Errorf("after a process that saved nothing: %+v", got)
	}
}

// ST-28: every commit saves what was spent too. Where that fails nothing else does, and it is told.
func TestWindowsGoWithCommits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	var changed []progressive.ChangedWindow
	var told []error
	s.WithCommits(func() ([]progressive.ChangedWindow, func(error)) {
		now := changed
		changed = nil
		return now, func(err error) { told = append(told, err) }
	})
	accept := func(n int) {
		t.Helper()
		require.Value(s.Accept(t.Context(), message("room", n), chat.JoinRule{}))(t)
	}
	accept(1)
	changed = []progressive.ChangedWindow{window("a/1", time.Now().Add(time.Hour))}
	accept(2)
	if _, err := s.writer.Exec(`CREATE TRIGGER breaks BEFORE INSERT ON windows WHEN new.scope = 'a/2' BEGIN SELECT RAISE(FAIL, 'it breaks'); END`); err != nil {
		t.Fatal(err)
	}
	changed = []progressive.ChangedWindow{window("a/2", time.Now().Add(time.Hour))}
	accept(3)
	changed = []progressive.ChangedWindow{window("a/3", time.Now().Add(time.Hour))}
	if err := s.write(t.Context(), nil); err == nil { // it panics
		t.Error("a write without anything to do has succeeded")
	}
	changed = []progressive.ChangedWindow{window("a/4", time.Now().Add(time.Hour))}
	failing(s, func(statement string) bool { return statement == "COMMIT" })
	if _, err := s.Accept(t.Context(), message("room", 4), chat.JoinRule{}); err == nil {
		t.Error("a message is accepted although nothing can be committed")
	}
	failing(s, nil)
	if len(told) != 4 || told[0] != nil || told[1] == nil || told[2] != nil || told[3] == nil {
		t.Errorf("told was %v", told)
	}
	require.NoError(t, s.Close())
	s = open(t, path)
	got := s.begun(t)
	if len(got.Windows) != 2 || got.Windows["a/2"].Left != nil {
		t.Errorf("saved is %+v", got)
	}
	if runs, err := s.OpenRuns(t.Context(), "room"); err != nil || len(runs) != 3 {
		t.Errorf("%d runs, %v; want 3", len(runs), err)
	}
	require.NoError(t, s.Close())
	if _, err := s.BeginWindows(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}

// DI-13: a store of an earlier version has saved nothing.
func TestWindowsOfAnOlderVersion(t *testing.T) {
	if got := openWrittenByA661299(t).begun(t); got.Known || got.Ended || len(got.Windows) > 0 {
		t.Errorf("there is %+v", got)
	}
}
