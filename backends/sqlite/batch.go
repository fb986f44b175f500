package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"parley/core/contain"
)

// batch is how many writes share a transaction at most.
const batch = 128

// writes batches concurrent callers into one transaction, so they share one sync to disk. The first caller commits for
// all.
type writes struct {
	db      *sql.DB // one connection
	jobs    chan *job
	turn    chan struct{} // held by who commits
	along   atomic.Pointer[along]
	trouble trouble
}

// job is one write.
type job struct {
	ctx  context.Context
	do   func(context.Context, *sql.Conn) error
	err  error
	done chan struct{} // closed when err stands
}

func newWrites(db *sql.DB) *writes {
	return &writes{db: db, jobs: make(chan *job, batch), turn: make(chan struct{}, 1)}
}

// run does do as if in a transaction of its own, for which do can run more than once. It waits for its turn as long as ctx allows, but is not cut off once it
// is in the queue: what it says is then what happened.
func (w *writes) run(ctx context.Context, do func(context.Context, *sql.Conn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	j := &job{ctx: context.WithoutCancel(ctx), do: do, done: make(chan struct{})}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case w.turn <- struct{}{}:
		w.commitUntil(j)
		<-w.turn
	case <-j.done:
	}
	return j.err
}

// commitUntil commits what waits, until mine is done.
func (w *writes) commitUntil(mine *job) {
	for {
		select {
		case <-mine.done:
			return
		default:
		}
		waiting := w.take()
		err := w.commit(waiting)
		w.trouble.set(err)
		for _, j := range waiting {
			if err != nil {
				j.err = err
			}
			close(j.done)
		}
	}
}

// take empties the queue, as far as one transaction goes.
func (w *writes) take() (waiting []*job) {
	for len(waiting) < batch {
		select {
		case j := <-w.jobs:
			waiting = append(waiting, j)
		default:
			return waiting
		}
	}
	return waiting
}

// commit does all jobs in one transaction. Few jobs fail: only if one does, all are taken back and done once more, each in a
// savepoint, so that the one that fails is taken back alone. An error means that none was done.
func (w *writes) commit(jobs []*job) error {
	ctx := context.Background()
	tx, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer tx.Close() //nolint:errcheck // it only goes back to the pool
	failed, err := w.transact(ctx, tx, jobs, false)
	if failed && err == nil {
		_, err = w.transact(ctx, tx, jobs, true)
	}
	return err
}

// transact does all jobs in one transaction, or none of them. If they are not apart, the first that fails ends it.
func (w *writes) transact(ctx context.Context, tx *sql.Conn, jobs []*job, apart bool) (failed bool, err error) {
	if _, err := tx.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return false, err
	}
	for _, j := range jobs {
		if apart {
			err = j.in(ctx, tx)
		} else if j.err = j.try(tx); j.err != nil {
			return true, rollback(ctx, tx, j.err)
		}
		if err != nil {
			return false, errors.Join(err, rollback(ctx, tx, nil))
		}
	}
	saved, err := w.saveAlong(ctx, tx)
	if err == nil {
		_, err = tx.ExecContext(ctx, `COMMIT`)
	}
	saved(err)
	if err != nil {
		_ = rollback(ctx, tx, nil) // SQLite may have done it
	}
	return false, err
}

// rollback takes tx back because of cause. An error means that SQLite had done so, as it does when the disk is full.
func rollback(ctx context.Context, tx *sql.Conn, cause error) error {
	if _, err := tx.ExecContext(ctx, `ROLLBACK`); err != nil {
		return errors.Join(cause, err)
	}
	return nil
}

// in does j as a part of tx. If j fails it is taken back alone; an error means that tx can't be used any more.
func (j *job) in(ctx context.Context, tx *sql.Conn) error {
	if _, err := tx.ExecContext(ctx, `SAVEPOINT job`); err != nil {
		return err
	}
	if j.err = j.try(tx); j.err != nil {
		if _, err := tx.ExecContext(ctx, `ROLLBACK TO job`); err != nil {
			return errors.Join(j.err, err) // SQLite took all of it back, as it does when the disk is full
		}
	}
	_, err := tx.ExecContext(ctx, `RELEASE job`)
	return err
}

// try keeps a panic from those who share the transaction.
func (j *job) try(tx *sql.Conn) (err error) {
	defer contain.Recover(&err, "a write")
	return j.do(j.ctx, tx)
}
