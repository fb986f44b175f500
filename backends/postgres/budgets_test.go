package postgres

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/core/chat"
	"parley/internal/require"
	"parley/progressive"
)

func window(scope progressive.Scope, until time.Time, allowed int) progressive.ChangedWindow {
	return progressive.ChangedWindow{Scope: scope, Until: until, Window: progressive.Window{Left: []time.Time{until}, Held: until, Allowed: allowed}}
}

func (s *Store) begun(t *testing.T) progressive.SavedWindows {
	t.Helper()
	saved := require.Value(s.BeginWindows(t.Context()))(t)
	return saved
}

// ST-28: what was spent outlives the process, with how that ended; what does not matter any more is forgotten.
func TestWindowsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	s := open(t, url, Options{})
	if got := s.begun(t); got.Known || got.Ended || len(got.Windows) > 0 {
		t.Errorf("at first there is %+v", got)
	}
	a, over := window("a/1", time.Now().Add(time.Hour), 3), window("b/1", time.Now().Add(-time.Minute), 3)
	for _, end := range []bool{false, true} {
		require.NoError(t, s.SaveWindows(t.Context(), []progressive.ChangedWindow{a, over}, end))
		require.NoError(t, s.Close())
		s = open(t, url, Options{})
		want := progressive.SavedWindows{Windows: map[progressive.Scope]progressive.Window{"a/1": a.Window}, Known: true, Ended: end}
		if diff := cmp.Diff(want, s.begun(t), cmpopts.EquateApproxTime(0)); diff != "" {
			t.Errorf("after an end that was told: %v (-want +got):\n%s", end, diff)
		}
	}
}

// ST-28: commits save what was spent too: with many at once the newest state stays, and each taken state is reported.
func TestWindowsWithCommits(t *testing.T) {
	t.Parallel()
	s := open(t, fresh(t), Options{})
	until := time.Now().Add(time.Hour)
	var mu sync.Mutex
	taken, told, fails := 0, 0, false
	s.WithCommits(func() ([]progressive.ChangedWindow, func(error)) {
		mu.Lock()
		defer mu.Unlock()
		taken++
		scope, bad := progressive.Scope("a/1"), fails
		if bad {
			scope = "bad\x00" // is refused
		}
		return []progressive.ChangedWindow{window(scope, until, taken)}, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if (err != nil) != bad {
				t.Errorf("refused %v, and told %v", bad, err)
			}
			told++
		}
	})
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			if _, err := s.Accept(t.Context(), message(chat.RoomID(fmt.Sprint(n)), chat.MemoryID(fmt.Sprint("m", n))), chat.JoinRule{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	last := taken
	if got := s.begun(t).Windows["a/1"].Allowed; taken == 0 || told < taken-1 || got < last {
		t.Errorf("%d states were taken, %d told of, and %d is stored", taken, told, got)
	}
	fails = true
	if err := s.Keep(t.Context(), "a", "b"); err != nil {
		t.Errorf("a write beside which nothing more could be saved: %v", err)
	}
	if v, err := s.Kept(t.Context(), "a"); v != "b" || err != nil {
		t.Errorf(`it was stored as %q, %v; want "b"`, v, err)
	}
}
