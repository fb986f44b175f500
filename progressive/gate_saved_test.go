package progressive_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
)

// windows keep what gates save.
type windows struct {
	mu    sync.Mutex
	saved progressive.SavedWindows
	saves []time.Time
	take  func() ([]progressive.ChangedWindow, func(error))
	fails error
}

func (w *windows) BeginWindows(context.Context) (progressive.SavedWindows, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.saved
	was.Windows = maps.Clone(was.Windows)
	w.saved.Known, w.saved.Ended = true, false
	return was, w.fails
}

func (w *windows) SaveWindows(_ context.Context, changed []progressive.ChangedWindow, end bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saves = append(w.saves, time.Now())
	if w.fails != nil {
		return w.fails
	}
	w.keep(changed)
	w.saved.Ended = w.saved.Ended || end
	return nil
}

func (w *windows) keep(changed []progressive.ChangedWindow) {
	if w.saved.Windows == nil {
		w.saved.Windows = map[progressive.Scope]progressive.Window{}
	}
	for _, c := range changed {
		w.saved.Windows[c.Scope] = c.Window
	}
}

func (w *windows) WithCommits(take func() ([]progressive.ChangedWindow, func(error))) { w.take = take }

// commit is one that happens anyway.
func (w *windows) commit(err error) {
	changed, done := w.take()
	if err == nil {
		w.mu.Lock()
		w.keep(changed)
		w.mu.Unlock()
	}
	done(err)
}

// failing has all that is read and saved from now on fail with err; nil is no error.
func (w *windows) failing(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails = err
}

// tried is when it was told to save since it was asked last.
func (w *windows) tried() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	saves := w.saves
	w.saves = nil
	return saves
}

// left is what is saved of the requests of a scope.
func (w *windows) left(scope progressive.Scope) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.saved.Windows[scope].Left
}

func (w *windows) gate(t *testing.T, open bool) *progressive.MemoryGate {
	t.Helper()
	o := require.Value(progressive.WithWindows(t.Context(), w, open, slog.New(slog.DiscardHandler)))(t)
	return progressive.NewGate(budgets(map[progressive.Scope]progressive.Budget{
		"chat": {N: 3, Per: 6 * time.Second}, "slow": {N: 1, Per: time.Minute}, "unlimited": {},
	}), o)
}

// waited is how long a final had to wait.
func waited(t *testing.T, g *progressive.MemoryGate, scope progressive.Scope) time.Duration {
	t.Helper()
	begun := time.Now()
	leave := require.Value(g.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{scope}, Priority: progressive.PriorityFinal}))(t)
	leave(nil)
	return time.Since(begun)
}

// ST-28: the next process begins with what this one has spent, if it ended in order; else with a second more.
func TestGateContinues(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*windows, *progressive.MemoryGate) error
		want []time.Duration // that finals wait, one after the other
	}{
		"an end":             {func(_ *windows, g *progressive.MemoryGate) error { return g.Close() }, []time.Duration{0, 4 * time.Second, 0}},
		"a crash":            {func(*windows, *progressive.MemoryGate) error { time.Sleep(2 * time.Second); return nil }, []time.Duration{4 * time.Second, 0, 2 * time.Second}},
		"a crash at once":    {func(*windows, *progressive.MemoryGate) error { return nil }, []time.Duration{0, 0, 6 * time.Second}},
		"a crash, committed": {func(w *windows, _ *progressive.MemoryGate) error { w.commit(nil); return nil }, []time.Duration{6 * time.Second, 0, 0}},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			w := &windows{}
			g := w.gate(t, true)
			time.Sleep(time.Minute) // nothing is known of before: then all is spent
			waited(t, g, "chat")
			waited(t, g, "chat")
			require.NoError(t, c.end(w, g))
			if name == "an end" {
				time.Sleep(2 * time.Second)
			}
			g = w.gate(t, true)
			for i, want := range c.want {
				if got := waited(t, g, "chat"); got != want {
					t.Errorf("final %d waited %v; want %v", i+1, got, want)
				}
			}
		}))
	}
}

// ST-28: what was spent is saved at most once a second, and not at all where commits do it. What can't be saved is saved later.
func TestGateSavesOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &windows{}
		g := w.gate(t, false)
		begun := time.Now()
		for range 10 {
			leave := require.Value(g.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"free"}, Priority: progressive.PriorityFinal}))(t)
			leave(nil)
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		last, saves := begun, w.tried()
		for _, at := range saves {
			if at.Sub(last) < time.Second {
				t.Errorf("it saved %v after the save before", at.Sub(last))
			}
			last = at
		}
		if len(saves) < 2 {
			t.Errorf("it saved at %v; want at least 2", saves)
		}
		waited(t, g, "slow")
		full := errors.New("disk full")
		w.commit(full)
		w.failing(full)
		time.Sleep(3500 * time.Millisecond)
		if n := len(w.tried()); n != 3 {
			t.Errorf("it tried to save %d times in 3.5 s; want 3", n)
		}
		w.failing(nil)
		w.commit(nil)
		time.Sleep(time.Minute)
		if n := len(w.tried()); n != 0 {
			t.Errorf("it saved what was saved: %d times; want none", n)
		}
		if got := w.left("slow"); len(got) != 1 {
			t.Errorf("saved is %v; want 1", got)
		}
		w.failing(full)
		if err := g.Close(); !errors.Is(err, full) {
			t.Errorf("its end: %v", err)
		}
		if _, err := progressive.WithWindows(t.Context(), w, false, nil); !errors.Is(err, full) {
			t.Errorf("what can't be read: %v", err)
		}
	})
}

// ST-28: of commits that follow each other within a tenth of a second, the first saves what was spent. What comes after it is saved by a
// later commit, or after a second.
func TestGateSavesWithSomeCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &windows{}
		g := w.gate(t, false)
		saved := func(want int) {
			t.Helper()
			if got := len(w.left("chat")); got != want {
				t.Errorf("%d requests are saved; want %d", got, want)
			}
		}
		waited(t, g, "chat")
		w.commit(nil)
		saved(1)
		waited(t, g, "chat")
		w.commit(nil)
		saved(1)
		time.Sleep(100 * time.Millisecond)
		w.commit(nil)
		saved(2)
		waited(t, g, "chat")
		w.commit(nil)
		saved(2)
		time.Sleep(2 * time.Second)
		saved(3)
		if n := len(w.tried()); n != 1 {
			t.Errorf("it saved %d times by itself; want 1", n)
		}
	})
}

// I6, ST-28: also a short hold, what the platform said of its window, and the slower pace after a refusal are known to the next
// process. A clock that was set back makes nothing wait longer than a window.
func TestGateContinuesWhatItLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &windows{}
		g := w.gate(t, false)
		for scope, said := range map[progressive.Scope]error{
			"chat": progressive.RetryAfter{After: 20 * time.Second}, "free": progressive.BudgetHint{Left: 0, After: 10 * time.Second},
		} {
			for _, said := range []error{nil, said} {
				leave := require.Value(g.Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{scope}, Priority: progressive.PriorityFinal}))(t)
				leave(said)
			}
		}
		require.NoError(t, g.Close())
		w.saved.Windows["slow"] = progressive.Window{Left: []time.Time{time.Now().Add(time.Hour)}}
		g = w.gate(t, false)
		for _, c := range []struct {
			scope progressive.Scope
			want  time.Duration
		}{{"free", 10 * time.Second}, {"chat", 10 * time.Second}} {
			if got := waited(t, g, c.scope); got != c.want {
				t.Errorf("%s waited %v; want %v", c.scope, got, c.want)
			}
		}
		waited(t, g, "chat")
		waited(t, g, "chat")
		if got := waited(t, g, "chat"); got <= 6*time.Second {
			t.Errorf("at half the pace it waited %v", got)
		}
		if got := waited(t, g, "slow"); got != time.Minute {
			t.Errorf("after the clock was set back it waited %v; want %v", got, time.Minute)
		}
	})
}

// ST-28: what a crashed process may have spent unsaved matters for one window, and only where there is a budget.
func TestGateContinuesAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &windows{}
		w.gate(t, false) // it crashes
		w.saved.Windows = map[progressive.Scope]progressive.Window{"chat": {Resets: time.Now().Add(time.Hour), Allowed: 1}}
		g := w.gate(t, false)
		if got := waited(t, g, "unlimited"); got != 0 {
			t.Errorf("without a budget it waited %v; want none", got)
		}
		time.Sleep(time.Minute)
		if got := waited(t, g, "chat"); got != 0 {
			t.Errorf("the request that the platform still allows waited %v, a minute after the crash", got)
		}
	})
}

// ST-28: only uses that are still in a window are stored, however many the budget allows.
func TestGateSavesWhatIsInAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &windows{}
		g := w.gate(t, false)
		for range 3 {
			waited(t, g, "slow")
		}
		require.NoError(t, g.Close())
		left := w.saved.Windows["slow"].Left
		if len(left) == 0 || time.Since(left[0]) >= time.Minute {
			t.Errorf("stored are the uses of %v at %v", left, time.Now())
		}
	})
}

// The times of uses are stored in JSON as they were.
func TestWindowIsEncoded(t *testing.T) {
	for _, left := range [][]time.Time{nil, {time.Unix(1, 5).UTC()}, {time.Unix(1, 5).UTC(), time.Unix(2, 0).UTC(), time.Unix(3, 0).UTC()}} {
		var got progressive.Window
		raw := require.Value(json.Marshal(progressive.Window{Left: left}))(t)
		if err := json.Unmarshal(raw, &got); err != nil || !slices.Equal(got.Left, left) {
			t.Errorf("%s is read as %v, %v; want %v", raw, got.Left, err, left)
		}
	}
}
