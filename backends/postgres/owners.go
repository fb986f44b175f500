package postgres

import (
	"context"
	"errors"
	"time"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// longDead is the time that the rows of dead owners without open runs stay where several gateways use the database.
const longDead = 24 * time.Hour

// buryOwners deletes owners that ended long ago. If the opener is the only user of the database, all earlier owners are
// dead: it ends their leases, so that their runs can be started at once. Owners with open runs keep their rows, because
// the column leaving decides whether those runs count a death.
func buryOwners(ctx context.Context, q querier, now int64, several bool) error {
	before := now
	if several {
		before -= int64(longDead)
	}
	_, err := q.Exec(ctx, `
		DELETE FROM owners WHERE (alive_until < $1 OR NOT $2) AND id NOT IN (SELECT owner FROM runs WHERE status = '')`, before, several)
	if err == nil && !several {
		_, err = q.Exec(ctx, `UPDATE owners SET alive_until = 0`)
	}
	return err
}

// RenewLease implements [storage.Leases]. The lease ends by the clock of the database: until is converted to a duration,
// which the statement adds to its own present. It also checks the claim, because a heartbeat is what notices that the
// database was unreachable.
func (s *journal) RenewLease(ctx context.Context, owner string, until time.Time) error {
	err := s.write(ctx, nil, func(ctx context.Context, q querier) error { return s.beat(ctx, q, owner, until) })
	return wrap(errors.Join(err, s.claim.keep(ctx)), "renewing the lease of %q", owner)
}

// beat stores the lease and returns with the database's time, which the clock of this store follows from here on: the
// two clocks drift, and each heartbeat corrects that at no cost.
func (s *journal) beat(ctx context.Context, q querier, owner string, until time.Time) error {
	var present *int64
	if now := s.clock.nanos(); s.clock.own {
		present = &now
	}
	before := s.clock.now()
	var server int64
	err := q.QueryRow(ctx, `
		WITH present AS (SELECT coalesce($3, `+serverNow+`) AS now)
		INSERT INTO owners (id, alive_until) SELECT $1, now + $2 FROM present
		ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until
		RETURNING (SELECT now FROM present)`, owner, int64(until.Sub(before)), present).Scan(&server)
	if err == nil {
		s.clock.set(before, server)
	}
	return err
}

// Leave implements [storage.Leases].
func (s *journal) Leave(ctx context.Context, owner string) error {
	err := s.write(ctx, nil, func(ctx context.Context, q querier) error {
		_, err := q.Exec(ctx, `UPDATE owners SET leaving = true WHERE id = $1`, owner)
		return err
	})
	return wrap(err, "recording the planned shutdown of %q", owner)
}

// SetAside implements [storage.Retries].
func (s *journal) SetAside(ctx context.Context, limit int) ([]chat.Run, error) {
	var all []chat.Run
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, selectRuns+`
			WHERE r.failure = 'set_aside' AND r.status <> '' ORDER BY r.opened DESC, r.seq DESC LIMIT $2`, s.clock.nanos(), limit)
		all, err = collect(rows, err, s.scanChatRun)
		return err
	})
	return all, wrap(err, "reading the runs that are set aside")
}

// RetryRun implements [storage.Retries].
func (s *journal) RetryRun(ctx context.Context, id chat.RunID) error {
	err := s.write(ctx, roomScope(roomOf(id)), func(ctx context.Context, q querier) error {
		run, err := s.findRun(ctx, q, id)
		if err != nil {
			return err
		}
		if err := retryable(ctx, q, run.Run); err != nil {
			return err
		}
		_, err = q.Exec(ctx, `
			UPDATE runs SET withdrawn = false, retried = (SELECT max(turn) FROM runs WHERE room = $1) WHERE id = $2`, run.Room, id)
		if err != nil {
			return err
		}
		return reopen(ctx, q, run)
	})
	return wrap(err, "retrying the run %q", id)
}

// retryable returns nil if the run was set aside and can be tried again: no writing action has begun, which would be
// repeated, its question was not deleted, and the room is free.
func retryable(ctx context.Context, q querier, run chat.Run) error {
	switch {
	case !run.Outcome.Done() || run.Outcome.Failure != llm.SetAside:
		return chat.ErrNotFound
	case run.Acting != "" || run.Acted != "" || len(run.Inputs) == 0 && run.Kind != chat.RunChoiceResult:
		return answer.ErrLost
	}
	return roomFree(ctx, q, run)
}

// Replicas implements [storage.Fleet]. Owners that are dead are shown while runs of theirs are open. A run waits if it
// was never started, or if its owner is dead, unless it is parked.
func (s *journal) Replicas(ctx context.Context) (fleet chat.Fleet, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		now := s.clock.nanos()
		rows, err := q.Query(ctx, `
			SELECT o.id, o.alive_until, o.leaving, count(r.id) FROM owners o
				LEFT JOIN runs r ON r.owner = o.id AND r.status = '' AND r.epoch > 0
			GROUP BY o.id HAVING o.alive_until > $1 OR count(r.id) > 0 ORDER BY o.id`, now)
		if fleet.Replicas, err = collect(rows, err, s.scanReplica); err != nil {
			return err
		}
		rows, err = q.Query(ctx, `SELECT name, owner, ends FROM leases WHERE ends > $1 ORDER BY name`, now)
		if fleet.Leases, err = collect(rows, err, s.scanLease); err != nil {
			return err
		}
		var oldest int64
		err = q.QueryRow(ctx, `
			SELECT count(*), coalesce(min(r.opened), 0) FROM runs r LEFT JOIN owners o ON o.id = r.owner
			WHERE r.status = '' AND NOT r.parked AND (r.epoch = 0 OR coalesce(o.alive_until <= $1, TRUE))`, now).Scan(&fleet.Waiting, &oldest)
		fleet.Oldest = s.clock.local(record.Time(oldest))
		return err
	})
	return fleet, wrap(err, "reading the replicas")
}

// scanReplica reads a process and converts its time to the clock of this one.
func (s *journal) scanReplica(r record.Row) (chat.Replica, error) {
	replica, err := record.ScanReplica(r)
	replica.AliveUntil = s.clock.local(replica.AliveUntil)
	return replica, err
}

// scanLease reads a lease and converts its time to the clock of the process.
func (s *journal) scanLease(r record.Row) (l chat.Lease, err error) {
	var ends int64
	err = r.Scan(&l.Name, &l.Owner, &ends)
	l.Ends = s.clock.local(record.Time(ends))
	return l, err
}
