package sqlstore

import (
	"context"
	"time"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// Leave implements [storage.Leases].
func (s *journal) Leave(ctx context.Context, owner string) error {
	err := s.Write(ctx, Change{}, func(ctx context.Context, tx Conn) error {
		_, err := tx.Exec(ctx, `UPDATE owners SET leaving = TRUE WHERE id = $1`, owner)
		return err
	})
	return s.wrap(err, "recording the planned shutdown of %q", owner)
}

// SetAside implements [storage.Retries].
func (s *journal) SetAside(ctx context.Context, limit int) ([]chat.Run, error) {
	all, err := list(ctx, s.Shared, s.scanChatRun, s.selectRuns+`
		WHERE r.failure = 'set_aside' AND r.status <> '' ORDER BY r.opened DESC, r.`+s.Seq+` DESC LIMIT $2`, s.Present(), limit)
	return all, s.wrap(err, "reading the runs that are set aside")
}

// RetryRun implements [storage.Retries].
func (s *journal) RetryRun(ctx context.Context, id chat.RunID) error {
	err := s.Write(ctx, s.run(id).deleting(), func(ctx context.Context, tx Conn) error {
		run, err := s.findRun(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := retryable(ctx, tx, run.Run); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE runs SET withdrawn = FALSE, retried = (SELECT max(turn) FROM runs WHERE room = $1) WHERE id = $2`, run.Room, id)
		if err != nil {
			return err
		}
		return reopen(ctx, tx, run)
	})
	return s.wrap(err, "retrying the run %q", id)
}

// retryable returns nil if the run was set aside and can be tried again: no writing action has begun, which would be
// repeated, its question was not deleted, and the room is free.
func retryable(ctx context.Context, tx Conn, run chat.Run) error {
	switch {
	case !run.Outcome.Done() || run.Outcome.Failure != llm.SetAside:
		return chat.ErrNotFound
	case run.Acting != "" || run.Acted != "" || len(run.Inputs) == 0 && run.Kind != chat.RunChoiceResult:
		return answer.ErrLost
	}
	return roomFree(ctx, tx, run)
}

// Replicas implements [storage.Fleet]. Owners that are dead are shown while runs of theirs are open. A run waits if it
// was never started, or if its owner is dead, unless it is parked.
func (s *journal) Replicas(ctx context.Context) (fleet chat.Fleet, err error) {
	err = s.Read(ctx, func(ctx context.Context, c Conn) error {
		now := s.Present()
		rows, err := c.Query(ctx, `
			SELECT o.id, o.alive_until, o.leaving, count(r.id) FROM owners o
				LEFT JOIN runs r ON r.owner = o.id AND r.status = '' AND r.epoch > 0
			GROUP BY o.id HAVING o.alive_until > $1 OR count(r.id) > 0 ORDER BY o.id`, now)
		if fleet.Replicas, err = Collect(rows, err, s.scanReplica); err != nil {
			return err
		}
		err = c.QueryRow(ctx, `
			SELECT count(*), coalesce(min(r.opened), 0), (SELECT count(*) FROM approvals WHERE decision = 'pending' AND expires > $2)
			FROM runs r LEFT JOIN owners o ON o.id = r.owner
			WHERE r.status = '' AND NOT r.parked AND (r.epoch = 0 OR coalesce(o.alive_until <= $1, TRUE))`, now, record.Nanos(time.Now())).
			Scan(&fleet.Waiting, record.TimeInto(&fleet.Oldest), &fleet.Approvals)
		fleet.Oldest = s.Local(fleet.Oldest)
		return err
	})
	return fleet, s.wrap(err, "reading the replicas")
}

// scanReplica reads a process and converts its time to the clock of this one.
func (s *journal) scanReplica(r record.Row) (chat.Replica, error) {
	replica, err := record.ScanReplica(r)
	replica.AliveUntil = s.Local(replica.AliveUntil)
	return replica, err
}
