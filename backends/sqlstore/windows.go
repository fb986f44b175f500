package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/backends/record"
	"parley/progressive"
)

// The states of the row with the empty scope: whether the process that saved the windows ended after saving
// all of them: after a crash, the gate assumes that more was spent than was saved.
const (
	windowsRunning = "running"
	windowsEnded   = "ended"
)

// BeginWindows implements [progressive.Windows]. It reads the windows that the process before saved and marks the state
// as running in one transaction, so that a crash right after the start is noticed too.
func (s *usage) BeginWindows(ctx context.Context) (saved progressive.SavedWindows, err error) {
	err = s.Write(ctx, Change{}, func(ctx context.Context, tx Conn) error {
		saved = progressive.SavedWindows{Windows: map[progressive.Scope]progressive.Window{}}
		rows, err := tx.Query(ctx, `SELECT scope, saved FROM windows WHERE until > $1 OR scope = ''`, s.Present())
		_, err = Collect(rows, err, func(r record.Row) (scope progressive.Scope, err error) {
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
		if err == nil {
			err = s.pruneWindows(ctx, tx)
		}
		if err == nil {
			_, err = tx.Exec(ctx, savingWindows(1), "", 0, windowsRunning)
		}
		return err
	})
	return saved, s.wrap(err, "reading what was spent")
}

// SaveWindows implements [progressive.Windows].
func (s *usage) SaveWindows(ctx context.Context, changed []progressive.ChangedWindow, end bool) error {
	err := s.Write(ctx, Change{Background: true}, func(ctx context.Context, tx Conn) error {
		if err := s.SaveChanged(ctx, tx, changed); err != nil || !end {
			return err
		}
		if err := s.pruneWindows(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, savingWindows(1), "", 0, windowsEnded)
		return err
	})
	return s.wrap(err, "saving what was spent")
}

const (
	// pruneEvery is how often expired windows are deleted. They are never read, so only the size of the table depends on it.
	pruneEvery = time.Minute
	// windowsAtOnce is the number of windows that one statement stores. A request to a platform uses two at least: that of its chat
	// and that of the bot.
	windowsAtOnce = 8
)

// savingWindows returns the statement that stores n windows. Unlike REPLACE, it doesn't delete the row and its entry of the index first.
func savingWindows(n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("($%d, $%d, $%d)", 3*i+1, 3*i+2, 3*i+3)
	}
	return `INSERT INTO windows (scope, until, saved) VALUES ` + strings.Join(rows, ", ") + `
		ON CONFLICT (scope) DO UPDATE SET until = excluded.until, saved = excluded.saved`
}

// SaveChanged stores changed windows in a transaction, and once per pruneEvery deletes expired ones. The windows are sorted, so that two
// transactions don't wait for each other's rows.
func (s *Shared) SaveChanged(ctx context.Context, tx Conn, changed []progressive.ChangedWindow) error {
	sorted := slices.SortedFunc(slices.Values(changed), func(a, b progressive.ChangedWindow) int { return cmp.Compare(a.Scope, b.Scope) })
	for some := range slices.Chunk(sorted, windowsAtOnce) {
		args := make([]any, 0, 3*len(some))
		for _, w := range some {
			text, err := json.Marshal(w.Window)
			if err != nil {
				return fmt.Errorf("encoding the spending of %s: %w", w.Scope, err)
			}
			args = append(args, w.Scope, s.Stored(w.Until), string(text))
		}
		if _, err := tx.Exec(ctx, savingWindows(len(some)), args...); err != nil {
			return err
		}
	}
	now := s.Now().UnixNano()
	if last := s.pruned.Load(); now-last < int64(pruneEvery) || !s.pruned.CompareAndSwap(last, now) {
		return nil
	}
	return s.pruneWindows(ctx, tx)
}

// pruneWindows deletes windows that have expired, except those that another replica is saving.
func (s *Shared) pruneWindows(ctx context.Context, tx Conn) error {
	_, err := tx.Exec(ctx, `DELETE FROM windows WHERE scope IN (SELECT scope FROM windows WHERE until <= $1 AND scope <> ''`+s.SkipLocked+`)`, s.Present())
	return err
}
