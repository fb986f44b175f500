package postgres

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"parley/backends/sqlstore"
	"parley/progressive"
)

var _ progressive.Windows = (*Store)(nil)

// WithCommits implements [progressive.Windows].
func (s *usage) WithCommits(take func() ([]progressive.ChangedWindow, func(error))) {
	s.along.sql = s.sql
	s.along.take.Store(&take)
}

// along is the part that every commit saves too: the budgets that were used since the commit before. Commits of this
// store run concurrently, so saving makes one of them the saver; the others leave the windows to it or to the next.
// With two savers, an older state could replace a newer one.
type along struct {
	sql    *sqlstore.Shared
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
	if failed = a.sql.SaveChanged(ctx, sharedConn{q}, changed); failed != nil {
		_, back := q.Exec(ctx, `ROLLBACK TO along`)
		return done, errors.Join(back)
	}
	return done, nil
}
