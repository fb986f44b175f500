package sqlite

import (
	"context"
	"time"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// buryOwners ends all leases when the file is opened: its only owner has just changed, so all earlier ones are dead.
// Owners with open runs keep their rows, because the column leaving decides whether those runs count a death.
func buryOwners(ctx context.Context, tx *conn) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM owners WHERE id NOT IN (SELECT owner FROM runs WHERE status = '')`)
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE owners SET alive_until = 0`)
	}
	return err
}

// Leave implements [storage.Leases].
func (s *journal) Leave(ctx context.Context, owner string) error {
	err := s.write(ctx, func(ctx context.Context, tx *conn) error {
		_, err := tx.ExecContext(ctx, `UPDATE owners SET leaving = 1 WHERE id = ?`, owner)
		return err
	})
	return wrap(err, "recording the planned shutdown of %q", owner)
}

// SetAside implements [storage.Retries].
func (s *journal) SetAside(ctx context.Context, limit int) ([]chat.Run, error) {
	var all []chat.Run
	err := s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, selectRuns+`
			WHERE r.failure = 'set_aside' AND r.status <> '' ORDER BY r.opened DESC, r.rowid DESC LIMIT ?`, record.Nanos(time.Now()), limit)
		if err != nil {
			return err
		}
		all, err = collect(rows, func(r record.Row) (chat.Run, error) {
			run, err := record.ScanRun(r)
			return run.Run, err
		})
		return err
	})
	return all, wrap(err, "reading the runs that are set aside")
}

// RetryRun implements [storage.Retries].
func (s *journal) RetryRun(ctx context.Context, id chat.RunID) error {
	err := s.forgetting(ctx, func(ctx context.Context, tx *conn) error {
		run, err := findRun(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := retryable(ctx, tx, run.Run); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			UPDATE runs SET withdrawn = 0, retried = (SELECT max(turn) FROM runs WHERE room = ?) WHERE id = ?`, run.Room, id)
		if err != nil {
			return err
		}
		return reopen(ctx, tx, run)
	})
	return wrap(err, "retrying the run %q", id)
}

// retryable returns nil if the run was set aside and can be tried again: no writing action has begun, which would be
// repeated, its question was not deleted, and the room is free.
func retryable(ctx context.Context, tx *conn, run chat.Run) error {
	switch {
	case !run.Outcome.Done() || run.Outcome.Failure != llm.SetAside:
		return chat.ErrNotFound
	case run.Acting != "" || run.Acted != "" || len(run.Inputs) == 0 && run.Kind != chat.RunChoiceResult:
		return answer.ErrLost
	}
	return roomFree(ctx, tx, run)
}

// Replicas implements [storage.Fleet]. There is one process at a time, so there are no leases; owners that are dead are
// shown while runs of theirs are open. A run waits if it was never started, or if its owner is dead, unless it is
// parked.
func (s *journal) Replicas(ctx context.Context) (fleet chat.Fleet, err error) {
	now := record.Nanos(time.Now())
	err = s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, `
			SELECT o.id, o.alive_until, o.leaving, count(r.id) AS held FROM owners o
				LEFT JOIN runs r ON r.owner = o.id AND r.status = '' AND r.epoch > 0
			GROUP BY o.id HAVING o.alive_until > ? OR held > 0 ORDER BY o.id`, now)
		if err != nil {
			return err
		}
		if fleet.Replicas, err = collect(rows, record.ScanReplica); err != nil {
			return err
		}
		var oldest int64
		err = db.QueryRowContext(ctx, `
			SELECT count(*), ifnull(min(r.opened), 0) FROM runs r LEFT JOIN owners o ON o.id = r.owner
			WHERE r.status = '' AND NOT r.parked AND (r.epoch = 0 OR ifnull(o.alive_until <= ?, TRUE))`, now).Scan(&fleet.Waiting, &oldest)
		fleet.Oldest = record.Time(oldest)
		return err
	})
	return fleet, wrap(err, "reading the replicas")
}
