package progressive

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

const (
	saveEvery = time.Second // used budgets are stored at most this often, if no other commit includes them
	// With other commits they are stored at most this often: where many chats answer there are thousands a second, and each would
	// store the budget of the bot.
	saveWith = 100 * time.Millisecond
	unsaved  = time.Second // at most this much of each budget is used between two saves, so a crash loses no more
)

// Window is the state of one scope's budget.
type Window struct {
	Left    returns   `json:"left,omitempty"`    // when the latest permits were returned, oldest first
	Held    time.Time `json:"held,omitzero"`     // closed until then
	Learned Budget    `json:"learned,omitzero"`  // what refusals taught
	Slow    time.Time `json:"slow,omitzero"`     // until then it applies
	Halved  time.Time `json:"halved,omitzero"`   // at half the pace until then
	Resets  time.Time `json:"resets,omitzero"`   // at most Allowed requests until then
	Allowed int       `json:"allowed,omitempty"` //
}

// returns are times that are encoded like [time.Time] in JSON, but without reflection: there are many, with each commit.
type returns []time.Time

// MarshalJSON implements [json.Marshaler].
func (r returns) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, len(r)*(len(time.RFC3339Nano)+3)+2), '[')
	for i, at := range r {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(at.AppendFormat(b, time.RFC3339Nano), '"')
	}
	return append(b, ']'), nil
}

// Windows persists used budgets across restarts. Its methods are safe for concurrent use.
type Windows interface {
	// BeginWindows returns the windows that the previous process saved, and records the start of this one. An error
	// means that neither was possible.
	BeginWindows(ctx context.Context) (SavedWindows, error)
	// SaveWindows stores each window until it expires, and replaces the earlier state of its scope. With end, it
	// records that the process ends with everything saved.
	SaveWindows(ctx context.Context, changed []ChangedWindow, end bool) error
	// WithCommits makes every later commit also save what take returns. If that is not empty, done is then called once.
	// take must not block.
	WithCommits(take func() (changed []ChangedWindow, done func(error)))
}

// ChangedWindow is a window to save.
type ChangedWindow struct {
	Scope Scope
	Window
	Until time.Time // when it expires
}

// SavedWindows is the saved state at the start of a process.
type SavedWindows struct {
	Windows map[Scope]Window
	Known   bool // an earlier process has saved something
	Ended   bool // that process has saved everything
}

// WithWindows starts the gate with the budgets used by its predecessor, and saves those used by this process: with the
// commits of w, ten times a second at most, and otherwise once a second. If the predecessor crashed, it assumes one more
// second of each budget. If nothing was ever saved, but open is set because runs were left open, every window starts
// full. An error means that w could not load the saved windows.
func WithWindows(ctx context.Context, w Windows, open bool, log *slog.Logger) (GateOption, error) {
	saved, err := w.BeginWindows(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the saved budget windows: %w", err)
	}
	return func(g *MemoryGate) {
		g.windows, g.log, g.storedWindows, g.unsavedScopes = w, log, saved.Windows, map[*scope]bool{}
		switch now := time.Now(); {
		case !saved.Known && open:
			g.exhaustedAt = now
		case saved.Known && !saved.Ended:
			g.crashedAt = now
		}
		w.WithCommits(g.takeWithCommit)
	}, nil
}

// restore sets the state of s from the windows of the previous process.
func (g *MemoryGate) restore(s *scope, now time.Time) {
	w, ok := g.storedWindows[s.name]
	if ok {
		delete(g.storedWindows, s.name)
		for _, at := range w.Left {
			if at.After(now) { // the clock was set back: without this the budget would look used up for that long
				at = now
			}
			s.returned = append(s.returned, at)
		}
		s.returned = s.returned[max(0, len(s.returned)-s.N):]
		s.closedUntil = maxTime(s.closedUntil, w.Held)
		if w.Slow.After(s.learnedUntil) {
			s.learned, s.learnedUntil = w.Learned, w.Slow
		}
		s.halvedUntil = maxTime(s.halvedUntil, w.Halved)
		s.hintUntil, s.hintLeft = w.Resets, w.Allowed
	}
	if !g.crashedAt.IsZero() && s.N > 0 && now.Before(g.crashedAt.Add(s.Per)) {
		n := min(s.N, int((time.Duration(s.N)*unsaved+s.Per-1)/s.Per))
		for range n {
			s.recordUse(g.crashedAt, false)
		}
		s.hintLeft -= n
	}
}

// change notes that s has changes to store, and starts the timer for that.
func (g *MemoryGate) change(s *scope) {
	if g.windows == nil || g.closed {
		return
	}
	g.unsavedScopes[s] = true
	if g.saving == nil {
		g.saving = time.AfterFunc(saveEvery, func() { g.saveChanged(false) })
	}
}

// takeWithCommit returns the changes to store with a commit of something else, or none if some were stored a moment ago: they stay for
// a later commit, or for the timer.
func (g *MemoryGate) takeWithCommit() (changed []ChangedWindow, done func(error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.taken) < saveWith {
		return nil, func(error) {}
	}
	return g.takeChanged()
}

// takeChanged returns the changes to store. done must be called with the result: after an error they are stored again. The caller
// holds the lock, but not while it calls done.
func (g *MemoryGate) takeChanged() (changed []ChangedWindow, done func(error)) {
	now := time.Now()
	var taken []*scope
	for s := range g.unsavedScopes {
		changed = append(changed, s.changed(now))
		taken = append(taken, s)
	}
	clear(g.unsavedScopes)
	if len(changed) > 0 {
		g.taken = now
	}
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

// changed returns the state of s for a later process: the uses that are still in a window. With a large budget these
// are few of those that s remembers.
func (s *scope) changed(now time.Time) ChangedWindow {
	longest := max(s.of(s.replicas).Per, s.Per, s.learned.of(s.replicas).Per)
	if now.Before(s.halvedUntil) {
		longest *= 2
	}
	left := s.returned
	for len(left) > 0 && !left[0].Add(longest).After(now) {
		left = left[1:]
	}
	return ChangedWindow{s.name, Window{
		Left: slices.Clone(left), Held: s.closedUntil, Learned: s.learned, Slow: s.learnedUntil, Halved: s.halvedUntil,
		Resets: s.hintUntil, Allowed: s.hintLeft,
	}, s.idleAt()}
}

// saveChanged stores the changes that no commit has included. Its failure is logged once, until it succeeds.
func (g *MemoryGate) saveChanged(end bool) error {
	g.mu.Lock()
	changed, done := g.takeChanged()
	g.mu.Unlock()
	if len(changed) == 0 && !end {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	err := g.windows.SaveWindows(ctx, changed, end)
	g.mu.Lock()
	failed := err != nil && !g.saveFailed
	g.saveFailed = err != nil
	g.mu.Unlock()
	if failed && !end {
		g.log.Warn("request counts can't be saved; after a crash, messages may be late or rate-limited once", "err", err)
	}
	done(err)
	return err
}

// Close saves the used budgets, and fails if they can't be saved. After it, no permits are granted.
func (g *MemoryGate) Close() error {
	g.mu.Lock()
	if g.windows == nil || g.closed {
		g.mu.Unlock()
		return nil
	}
	g.closed = true
	g.mu.Unlock()
	if err := g.saveChanged(true); err != nil {
		return fmt.Errorf("save the budget windows: %w", err)
	}
	return nil
}

// Close is [MemoryGate.Close] for the local gate, and returns its error.
func (g *SharedGate) Close() error { return g.local.Close() }

const (
	longHold = time.Minute     // shorter holds are over by the time a process has restarted, and are not stored
	saveTime = 5 * time.Second // limit for storing one
)

// Holds persists long holds across restarts, so that a restart doesn't violate them. Its methods are safe for
// concurrent use.
type Holds interface {
	// Holds returns the ends of the holds in effect, by scope. An error is the store's.
	Holds(ctx context.Context) (map[string]time.Time, error)
	// SaveHold stores that scope is closed until then, and replaces an earlier hold. After an error, the hold is not
	// stored.
	SaveHold(ctx context.Context, scope string, until time.Time) error
}

// WithHoldStore starts the gate with the stored holds, and stores every hold longer than a minute. A hold that can't be
// stored is logged, and applies to this process only. An error means that h could not load the stored holds.
func WithHoldStore(ctx context.Context, h Holds, log *slog.Logger) (GateOption, error) {
	ends, err := h.Holds(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the stored holds: %w", err)
	}
	return func(g *MemoryGate) {
		g.holds, g.log, g.storedHolds = h, log, map[Scope]time.Time{}
		for name, until := range ends {
			g.storedHolds[Scope(name)] = until
		}
	}, nil
}

// save stores a hold that applies already. It is called without the lock, because it waits for the store.
func (g *MemoryGate) save(scope Scope, until time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	if err := g.holds.SaveHold(ctx, string(scope), until); err != nil {
		g.log.Error("a rate-limit hold can't be saved and is lost if this process ends", "scope", scope, "until", until, "err", err)
	}
}
