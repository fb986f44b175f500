package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"parley/backends/record"
	"parley/progressive"
)

var _ progressive.Windows = (*Store)(nil)

// The states of the row with the empty scope: whether the process that saved the windows ended after saving
// all of them: after a crash, the gate assumes that more was spent than was saved.
const (
	windowsRunning = "running"
	windowsEnded   = "ended"
)

// BeginWindows implements [progressive.Windows]. It reads the windows that the process before saved and marks the state
// as running in one transaction, so that a crash right after the start is noticed too.
func (s *usage) BeginWindows(ctx context.Context) (saved progressive.SavedWindows, err error) {
	err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
		saved = progressive.SavedWindows{Windows: map[progressive.Scope]progressive.Window{}}
		rows, err := q.Query(ctx, `SELECT scope, saved FROM windows WHERE until > $1 OR scope = ''`, s.clock.nanos())
		_, err = collect(rows, err, func(r record.Row) (scope progressive.Scope, err error) {
			var text string
			if err := r.Scan(&scope, &text); err != nil {
				return "", err
			}
			if scope == "" {
				saved.Known, saved.Ended = true, text == windowsEnded
				return scope, nil
			}
			var w progressive.Window
			err = json.Unmarshal([]byte(text), &w)
			saved.Windows[scope] = w
			return scope, err
		})
		if err != nil {
			return err
		}
		return saveWindow(ctx, q, "", 0, windowsRunning)
	})
	return saved, wrap(err, "reading what was spent")
}

// saveWindow stores one row of windows.
func saveWindow(ctx context.Context, q querier, scope progressive.Scope, until int64, saved string) error {
	_, err := q.Exec(ctx, `
		INSERT INTO windows (scope, until, saved) VALUES ($1, $2, $3)
		ON CONFLICT (scope) DO UPDATE SET until = excluded.until, saved = excluded.saved`, scope, until, saved)
	return err
}

// SaveWindows implements [progressive.Windows].
func (s *usage) SaveWindows(ctx context.Context, changed []progressive.ChangedWindow, end bool) error {
	err := s.write(ctx, nil, func(ctx context.Context, q querier) error {
		if err := saveWindows(ctx, q, &s.clock, changed); err != nil || !end {
			return err
		}
		return saveWindow(ctx, q, "", 0, windowsEnded)
	})
	return wrap(err, "saving what was spent")
}

// saveWindows stores changed windows and deletes expired ones.
func saveWindows(ctx context.Context, q querier, c *clock, changed []progressive.ChangedWindow) error {
	sorted := slices.SortedFunc(slices.Values(changed), func(a, b progressive.ChangedWindow) int { return cmp.Compare(a.Scope, b.Scope) })
	for _, w := range sorted { // always in one order, so that two transactions don't wait for each other's rows
		text, err := json.Marshal(w.Window)
		if err != nil {
			return fmt.Errorf("encoding the spending of %s: %w", w.Scope, err)
		}
		if err := saveWindow(ctx, q, w.Scope, c.stored(w.Until), string(text)); err != nil {
			return err
		}
	}
	_, err := q.Exec(ctx, `
		DELETE FROM windows WHERE scope IN (SELECT scope FROM windows WHERE until <= $1 AND scope <> '' FOR UPDATE SKIP LOCKED)`, c.nanos())
	return err
}

// WithCommits implements [progressive.Windows].
func (s *usage) WithCommits(take func() ([]progressive.ChangedWindow, func(error))) {
	s.along.clock = &s.clock
	s.along.take.Store(&take)
}

// along is the part that every commit saves too: the budgets that were used since the commit before. Commits of this
// store run concurrently, so saving makes one of them the saver; the others leave the windows to it or to the next.
// With two savers, an older state could replace a newer one.
type along struct {
	clock  *clock
	take   atomic.Pointer[func() ([]progressive.ChangedWindow, func(error))]
	saving sync.Mutex // held from save until the transaction has ended
}

// save adds the changed windows to the transaction of q. If saving them fails, they alone are rolled back: budgets must
// not cost messages. The returned function, which is never nil, must be called with the outcome of the transaction. An
// error means that the transaction can't be used any more.
func (a *along) save(ctx context.Context, q querier) (done func(error), err error) {
	take := a.take.Load()
	if take == nil || !a.saving.TryLock() {
		return func(error) {}, nil
	}
	changed, told := (*take)()
	if len(changed) == 0 {
		a.saving.Unlock()
		return func(error) {}, nil
	}
	var failed error
	done = func(err error) {
		a.saving.Unlock()
		told(cmp.Or(err, failed))
	}
	if _, err = q.Exec(ctx, `SAVEPOINT along`); err != nil {
		return done, err
	}
	if failed = saveWindows(ctx, q, a.clock, changed); failed != nil {
		_, back := q.Exec(ctx, `ROLLBACK TO along`)
		return done, errors.Join(back)
	}
	return done, nil
}
