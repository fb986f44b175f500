package progressive

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

const (
	saveEvery = time.Second // how often what was spent is saved at most, where nothing else is stored
	unsaved   = time.Second // what a crashed process spent since the last save, in time
)

// Window is what is known of one scope's budget.
type Window struct {
	Left    []time.Time `json:"left,omitempty"`    // when the last permits were left, oldest first
	Held    time.Time   `json:"held,omitzero"`     // closed until then
	Wide    time.Time   `json:"wide,omitzero"`     // at half its pace until then
	Resets  time.Time   `json:"resets,omitzero"`   // no more than Allowed until then
	Allowed int         `json:"allowed,omitempty"` //
}

// Windows is where what was spent outlives the process. Its methods are safe for concurrent use.
type Windows interface {
	// BeginWindows returns what the process before has saved, and records that another one begins.
	BeginWindows(ctx context.Context) (SavedWindows, error)
	// SaveWindows stores each window, until it does not matter any more, in place of what was saved for its scope. With end,
	// it records that the process ends with nothing unsaved.
	SaveWindows(ctx context.Context, changed []ChangedWindow, end bool) error
	// WithCommits has every later commit save what take returns too. Then done is called once, if there was anything. A take
	// must not block.
	WithCommits(take func() (changed []ChangedWindow, done func(error)))
}

// ChangedWindow is a window to save.
type ChangedWindow struct {
	Scope Scope
	Window
	Until time.Time // from then on it does not matter
}

// SavedWindows is what a process finds when it begins.
type SavedWindows struct {
	Windows map[Scope]Window
	Known   bool // a process has saved before
	Ended   bool // that process has saved everything
}

// Continuing has the gate begin with what its predecessor has spent, and save what this process spends: with the commits of w, or
// at most once a second. Of a predecessor that crashed it assumes one more second of each budget. Where none has ever saved, but
// left something open, every window begins full.
func Continuing(ctx context.Context, w Windows, open bool, log *slog.Logger) (GateOption, error) {
	saved, err := w.BeginWindows(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for what was spent: %w", err)
	}
	return func(g *MemoryGate) {
		g.windows, g.log, g.saved, g.changed = w, log, saved.Windows, map[*scope]bool{}
		switch now := time.Now(); {
		case !saved.Known && open:
			g.spent = now
		case saved.Known && !saved.Ended:
			g.crashed = now
		}
		w.WithCommits(g.takeChanged)
	}, nil
}

// restore begins s with what is known from the process before.
func (g *MemoryGate) restore(s *scope, now time.Time) {
	w, ok := g.saved[s.name]
	if ok {
		delete(g.saved, s.name)
		for _, at := range w.Left {
			if at.After(now) { // the clock was set back
				at = now
			}
			s.left = append(s.left, at)
		}
		s.left = s.left[max(0, len(s.left)-s.N):]
		s.held, s.wide = later(s.held, w.Held), later(s.wide, w.Wide)
		s.resets, s.allowed = w.Resets, w.Allowed
	}
	if !g.crashed.IsZero() && s.N > 0 && now.Before(g.crashed.Add(s.Per)) {
		n := min(s.N, int((time.Duration(s.N)*unsaved+s.Per-1)/s.Per))
		for range n {
			s.spend(g.crashed)
		}
		s.allowed -= n
	}
}

// change notes that s has something to save. The first change starts the wait for the next save.
func (g *MemoryGate) change(s *scope) {
	if g.windows == nil || g.ended {
		return
	}
	g.changed[s] = true
	if g.saving == nil {
		g.saving = time.AfterFunc(saveEvery, func() { g.saveChanged(false) })
	}
}

// takeChanged returns what is to be saved. If that fails, it is to be saved again.
func (g *MemoryGate) takeChanged() (changed []ChangedWindow, done func(error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var taken []*scope
	for s := range g.changed {
		changed = append(changed, s.changed())
		taken = append(taken, s)
	}
	clear(g.changed)
	if g.saving != nil {
		g.saving.Stop()
		g.saving = nil
	}
	return changed, func(err error) {
		if err == nil {
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, s := range taken {
			g.change(s)
		}
	}
}

func (s *scope) changed() ChangedWindow {
	return ChangedWindow{s.name, Window{append([]time.Time(nil), s.left...), s.held, s.wide, s.resets, s.allowed}, s.idle()}
}

// saveChanged saves what no commit has saved. Its failure is logged once, until it succeeds.
func (g *MemoryGate) saveChanged(end bool) error {
	changed, done := g.takeChanged()
	if len(changed) == 0 && !end {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	err := g.windows.SaveWindows(ctx, changed, end)
	g.mu.Lock()
	failed := err != nil && !g.unsaved
	g.unsaved = err != nil
	g.mu.Unlock()
	if failed && !end {
		g.log.Warn("request counts can't be saved; after a crash, messages may be late or rate-limited once", "err", err)
	}
	done(err)
	return err
}

// Close saves what was spent. Nothing is spent any more.
func (g *MemoryGate) Close() error {
	g.mu.Lock()
	if g.windows == nil || g.ended {
		g.mu.Unlock()
		return nil
	}
	g.ended = true
	g.mu.Unlock()
	if err := g.saveChanged(true); err != nil {
		return fmt.Errorf("save what was spent: %w", err)
	}
	return nil
}

// Close saves what was spent. Nothing is spent any more.
func (g *SharedGate) Close() error { return g.local.Close() }
