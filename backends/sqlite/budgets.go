package sqlite

import (
	"context"

	"parley/backends/sqlstore"
	"parley/progressive"
)

var _ progressive.Windows = (*Store)(nil)

// WithCommits implements [progressive.Windows].
func (s *usage) WithCommits(take func() ([]progressive.ChangedWindow, func(error))) {
	s.writes.along.Store(&along{take, s.sql})
}

// along is the part that commits save too: the budgets that were used and are not saved yet, if take hands them out. A chat that
// answers commits often, so saving them costs no sync of their own.
type along struct {
	take func() ([]progressive.ChangedWindow, func(error))
	sql  *sqlstore.Shared
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
	return &job{ctx: ctx, do: func(ctx context.Context, tx *conn) error { return a.sql.SaveChanged(ctx, (*sharedConn)(tx), changed) }}, done
}
