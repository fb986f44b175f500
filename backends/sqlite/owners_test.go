package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

// DI-13, IN-18: a run that the version before was working on counts one death, others none, and all can be started.
func TestDeathsOfAnOlderVersion(t *testing.T) {
	s := openWrittenByA661299(t)
	for id, deaths := range map[chat.RunID]int{"telegram/1/42#3": 1, "telegram/1/-7#1": 0, "web/4f1c#1": 0, "telegram/1/42#4": 0, "telegram/1/42#1": 0} {
		run, err := s.Run(t.Context(), id)
		if err != nil || run.Deaths != deaths || run.Attempts != 0 || run.Retried != 0 {
			t.Errorf("%s has %d deaths and %d attempts, %v; want %d deaths", id, run.Deaths, run.Attempts, err, deaths)
		}
	}
	if run, err := s.Start(t.Context(), "telegram/1/42#3", "p2"); err != nil || run.Deaths != 1 {
		t.Errorf("started it is %+v, %v", run, err)
	}
	if all, err := s.SetAside(t.Context(), 10); err != nil || len(all) != 0 {
		t.Errorf("set aside are %+v, %v; want none", all, err)
	}
}

// IN-18: how a process ended is known to the next one, which opens the file: that it had to die, or left as planned.
func TestDeathsOutliveTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	var runs []chat.RunID
	for n := range 2 {
		acc := require.Value(s.Accept(t.Context(), message("room", n), chat.JoinRule{}))(t)
		runs = append(runs, acc.Run)
	}
	for life, want := range []int{0, 1, 1, 2} {
		owner := string(rune('a' + life))
		require.NoError(t, s.RenewLease(t.Context(), owner, time.Now().Add(time.Hour)))
		if run, err := s.Start(t.Context(), runs[0], owner); err != nil || run.Deaths != want {
			t.Fatalf("in life %d it is %+v, %v; want %d deaths", life, run, err, want)
		}
		if life == 1 {
			require.NoError(t, s.Leave(t.Context(), owner))
		}
		require.NoError(t, s.Close())
		s = open(t, path)
	}
	open, err := s.OpenRuns(t.Context(), "room")
	if err != nil || len(open) != 2 || open[0].Deaths != 3 || open[1].Deaths != 0 {
		t.Errorf("open are %+v, %v", open, err)
	}
	var owners int
	if err := s.readers.QueryRow(`SELECT count(*) FROM owners`).Scan(&owners); err != nil || owners != 1 {
		t.Errorf("%d owners are kept, %v; want the one whose run is open", owners, err)
	}
}
