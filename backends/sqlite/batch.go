package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"parley/internal/contain"
	"parley/internal/rest"
)

// batch is the maximum number of writes that share a transaction. It bounds the length of the queue, and how many
// writes are repeated when one of them fails.
const batch = 128

// writes commits the writes of concurrent callers in shared transactions, so that they also share the sync to disk. With one caller at
// a time, each write is simply its own transaction. One goroutine commits, for the reason that [pool] gives.
type writes struct {
	db      *conn                 // the writer
	cache   *cache                // gets the changes of each commit
	version int64                 // of the file: another number if another program has changed it
	jobs    chan *job             // writes that wait to be committed, in order of arrival; closed at the end
	turn    chan struct{}         // has room for one holder, who uses the writer
	ended   chan struct{}         // closed when nothing is committed any more
	along   atomic.Pointer[along] // saved by every commit too, see budgets.go; nil for nothing
	trouble trouble               // the outcome of the last commit, for Ping
	last    atomic.Int64          // when a write was last committed that is not in the background, in unix nanoseconds
}

// job is one write, and its result.
type job struct {
	ctx  context.Context
	do   func(context.Context, *conn) error
	err  error         // the result; only valid after done is closed
	done chan struct{} // closed when err is final

	background bool // no answer waits for it
}

const (
	quiet     = 20 * time.Millisecond  // without writes that an answer waits for: see rest
	mostQuiet = 250 * time.Millisecond // the time that rest waits for that
)

// newWrites begins to commit. The caller must call [writes.Close].
func newWrites(db *conn, cache *cache) *writes {
	w := &writes{db: db, cache: cache, jobs: make(chan *job, batch), turn: make(chan struct{}, 1), ended: make(chan struct{})}
	go w.serve()
	return w
}

// run calls j.do as if in a transaction of its own, and returns its error or that of the commit. It can be called more
// than once, see commit.
//
// ctx bounds the wait for a place in the queue. A job in the queue is not canceled any more: it shares its transaction with those of other
// callers, and the result of run must be true. So do also gets a context without cancellation.
func (w *writes) run(ctx context.Context, j *job) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	j.ctx, j.done = context.WithoutCancel(ctx), make(chan struct{})
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	<-j.done
	return j.err
}

// rest returns in a moment without a write that an answer waits for, such as between the first and the last text of an answer, or after a
// while without one. Writes that take some milliseconds begin then.
func (w *writes) rest(ctx context.Context) error {
	for begun := time.Now(); time.Since(begun) < mostQuiet; {
		left := quiet - time.Since(time.Unix(0, w.last.Load()))
		if left <= 0 {
			break
		}
		if err := rest.For(ctx, left); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the goroutine. No call of run may be under way.
func (w *writes) Close() {
	close(w.jobs)
	<-w.ended
}

// serve commits waiting jobs, batch after batch.
func (w *writes) serve() {
	defer close(w.ended)
	for first := range w.jobs {
		w.turn <- struct{}{}
		waiting := w.take(first)
		err := w.commit(waiting)
		<-w.turn
		w.trouble.set(troubleOf(waiting, err))
		if slices.ContainsFunc(waiting, func(j *job) bool { return !j.background }) {
			w.last.Store(time.Now().UnixNano())
		}
		// If the commit failed, every job failed, also those whose own statements succeeded.
		for _, j := range waiting {
			if err != nil {
				j.err = err
			}
			close(j.done)
		}
	}
}

// take returns first and the jobs that wait, at most batch. It does not wait for more: those that arrive during the commit form
// the next batch, so batches grow by themselves when the disk is slow.
func (w *writes) take(first *job) []*job {
	waiting := []*job{first}
	for len(waiting) < batch {
		select {
		case j, more := <-w.jobs:
			if !more {
				return waiting
			}
			waiting = append(waiting, j)
		default:
			return waiting
		}
	}
	return waiting
}

// commit runs all jobs in one transaction. The first attempt uses no savepoints, which would double the statements of
// small writes. Jobs fail rarely; only if one does, everything is rolled back and done again with a savepoint for each
// job, so that the failing ones are rolled back alone. The result of each job is in its err; an error returned by
// commit means that nothing was committed.
func (w *writes) commit(jobs []*job) error {
	ctx := context.Background()
	// The budgets are saved in the same transaction, so they cost no sync of their own.
	along, done := w.jobAlong(ctx)
	if along != nil {
		jobs = append(slices.Clip(jobs), along)
	}
	failed, err := w.transact(ctx, jobs, false)
	if failed && err == nil {
		_, err = w.transact(ctx, jobs, true)
	}
	if along != nil && err == nil {
		done(along.err)
	} else {
		done(err)
	}
	return err
}

// transact runs all jobs in one transaction. With apart, each has a savepoint, and failing ones are rolled back alone.
// Without it, the first job that fails ends the attempt: transact rolls back and returns failed without an error, and
// the caller tries again with apart. An error means that nothing was committed.
func (w *writes) transact(ctx context.Context, jobs []*job, apart bool) (failed bool, err error) {
	tx := w.db
	tx.changes.forget(0)
	if _, err := tx.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return false, err
	}
	if err := w.notice(ctx); err != nil {
		return false, errors.Join(err, rollback(ctx, tx, nil))
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
	w.cache.committing(tx.changes.all)
	_, err = tx.ExecContext(ctx, `COMMIT`)
	w.cache.committed(tx.changes.all, err == nil)
	tx.changes.forget(0)
	if err != nil {
		_ = rollback(ctx, tx, nil) // SQLite may have done it
	}
	return false, err
}

// notice clears the cache if another program has changed the file since the last transaction: a lock keeps other gateways out, but not
// an owner with a tool for databases.
func (w *writes) notice(ctx context.Context) error {
	before := w.version
	err := w.db.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&w.version)
	if err == nil && w.version != before {
		w.cache.clear()
	}
	return err
}

// rollback rolls the transaction back because of cause. It returns an error only if that fails: SQLite has then rolled
// back by itself, as it does when the disk is full (https://www.sqlite.org/lang_transaction.html), and the connection
// has no transaction.
func rollback(ctx context.Context, tx *conn, cause error) error {
	tx.reset()
	if _, err := tx.ExecContext(ctx, `ROLLBACK`); err != nil {
		return errors.Join(cause, err)
	}
	return nil
}

// in runs j within a savepoint. If j fails, only its changes are rolled back. An error means that the transaction is
// gone, and the other jobs with it.
func (j *job) in(ctx context.Context, tx *conn) error {
	if _, err := tx.ExecContext(ctx, `SAVEPOINT job`); err != nil {
		return err
	}
	before := len(tx.changes.all)
	if j.err = j.try(tx); j.err != nil {
		tx.changes.forget(before)
		if _, err := tx.ExecContext(ctx, `ROLLBACK TO job`); err != nil {
			return errors.Join(j.err, err) // SQLite took all of it back, as it does when the disk is full
		}
	}
	_, err := tx.ExecContext(ctx, `RELEASE job`)
	return err
}

// try runs j and turns a panic into its error, so that the jobs of other callers in the same transaction still succeed.
func (j *job) try(tx *conn) (err error) {
	defer contain.Recover(&err, "a write")
	return j.do(j.ctx, tx)
}
