package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

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
	err = s.write(ctx, func(ctx context.Context, tx *conn) error {
		saved = progressive.SavedWindows{Windows: map[progressive.Scope]progressive.Window{}}
		rows, err := tx.QueryContext(ctx, `SELECT scope, saved FROM windows WHERE until > ? OR scope = ''`, record.Nanos(time.Now()))
		if err != nil {
			return err
		}
		_, err = collect(rows, func(r record.Row) (scope progressive.Scope, err error) {
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
		if err := pruneWindows(ctx, tx); err != nil {
			return err
		}
		return markWindows(ctx, tx, windowsRunning)
	})
	return saved, wrap(err, "reading what was spent")
}

func markWindows(ctx context.Context, tx *conn, how string) error {
	_, err := tx.ExecContext(ctx, `REPLACE INTO windows (scope, until, saved) VALUES ('', 0, ?)`, how)
	return err
}

// SaveWindows implements [progressive.Windows].
func (s *usage) SaveWindows(ctx context.Context, changed []progressive.ChangedWindow, end bool) error {
	err := s.commit(ctx, &job{background: true, do: func(ctx context.Context, tx *conn) error {
		if err := s.saveWindows(ctx, tx, changed); err != nil || !end {
			return err
		}
		if err := pruneWindows(ctx, tx); err != nil {
			return err
		}
		return markWindows(ctx, tx, windowsEnded)
	}})
	return wrap(err, "saving what was spent")
}

// pruneEvery is how often expired windows are deleted. They are never read, so only the size of the table depends on
// it.
const pruneEvery = time.Minute

// windowsAtOnce is the number of windows that one statement stores. A request to a platform uses two at least: that of its chat and that
// of the bot.
const windowsAtOnce = 8

// saveWindows stores changed windows. Once per pruneEvery it also deletes expired ones.
func (s *database) saveWindows(ctx context.Context, tx *conn, changed []progressive.ChangedWindow) error {
	for some := range slices.Chunk(changed, windowsAtOnce) {
		args := make([]any, 0, 3*len(some))
		for _, w := range some {
			text, err := json.Marshal(w.Window)
			if err != nil {
				return fmt.Errorf("encoding the spending of %s: %w", w.Scope, err)
			}
			args = append(args, w.Scope, record.Nanos(w.Until), string(text))
		}
		// Unlike REPLACE, this doesn't delete the row and its entry of the index first.
		_, err := tx.ExecContext(ctx, `
			INSERT INTO windows (scope, until, saved) VALUES `+strings.Repeat("(?, ?, ?), ", len(some)-1)+`(?, ?, ?)`+`
			ON CONFLICT (scope) DO UPDATE SET until = excluded.until, saved = excluded.saved`, args...)
		if err != nil {
			return err
		}
	}
	if now := time.Now(); now.Sub(s.pruned) >= pruneEvery {
		s.pruned = now
		return pruneWindows(ctx, tx)
	}
	return nil
}

func pruneWindows(ctx context.Context, tx *conn) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM windows WHERE until <= ? AND scope <> ''`, record.Nanos(time.Now()))
	return err
}

// WithCommits implements [progressive.Windows].
func (s *usage) WithCommits(take func() ([]progressive.ChangedWindow, func(error))) {
	s.writes.along.Store(&along{take, s.saveWindows})
}

// along is the part that commits save too: the budgets that were used and are not saved yet, if take hands them out. A chat that
// answers commits often, so saving them costs no sync of their own.
type along struct {
	take func() ([]progressive.ChangedWindow, func(error))
	save func(context.Context, *conn, []progressive.ChangedWindow) error
}

// jobAlong returns the write that saves the changed windows with a commit, or nil if none has changed. It is a job like others: if it
// fails, it alone is rolled back, because budgets must not cost messages. The returned function, which is never nil, must be
// called with the outcome: after a failure the windows are handed out again.
func (w *writes) jobAlong(ctx context.Context) (j *job, done func(error)) {
	a := w.along.Load()
	if a == nil {
		return nil, func(error) {}
	}
	changed, done := a.take()
	if len(changed) == 0 {
		return nil, func(error) {}
	}
	return &job{ctx: ctx, do: func(ctx context.Context, tx *conn) error { return a.save(ctx, tx, changed) }}, done
}
