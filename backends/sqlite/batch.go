package sqlite

import (
	"context"
	"database/sql"
	"errors"

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
	along   along
	trouble trouble
}

// job is one write.
type job struct {
	ctx  context.Context
	do   func(context.Context, *sql.Tx) error
	err  error
	done chan struct{} // closed when err stands
}

func newWrites(db *sql.DB) *writes {
	return &writes{db: db, jobs: make(chan *job, batch), turn: make(chan struct{}, 1)}
}

// run does do as if in a transaction of its own. It waits for its turn as long as ctx allows, but is not cut off once it
// is in the queue: what it says is then what happened.
func (w *writes) run(ctx context.Context, do func(context.Context, *sql.Tx) error) error {
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

// commit does all jobs in one transaction. One that fails is taken back alone; an error means that none was done.
func (w *writes) commit(jobs []*job) error {
	ctx := context.Background()
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // of no effect after Commit
	for _, j := range jobs {
		if err := j.in(ctx, tx); err != nil {
			return err
		}
	}
	saved, err := w.along.save(ctx, tx)
	if err == nil {
		err = tx.Commit()
	}
	saved(err)
	return err
}

// in does j as a part of tx. If j fails it is taken back alone; an error means that tx can't be used any more.
func (j *job) in(ctx context.Context, tx *sql.Tx) error {
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
func (j *job) try(tx *sql.Tx) (err error) {
	defer contain.Recover(&err, "a write")
	return j.do(j.ctx, tx)
}
