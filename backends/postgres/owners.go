package postgres

import (
	"context"
	"errors"
	"time"

	"parley/backends/record"
	"parley/core/chat"
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

// Replicas implements [storage.Fleet], with the leases of the replicas.
func (s *journal) Replicas(ctx context.Context) (chat.Fleet, error) {
	fleet, err := s.common.Replicas(ctx)
	if err == nil {
		err = s.read(ctx, func(ctx context.Context, q querier) error {
			fleet.Leases, err = list(ctx, q, s.scanLease, `SELECT name, owner, ends FROM leases WHERE ends > $1 ORDER BY name`, s.clock.nanos())
			return err
		})
	}
	return fleet, wrap(err, "reading the replicas")
}

// scanLease reads a lease and converts its time to the clock of the process.
func (s *journal) scanLease(r record.Row) (l chat.Lease, err error) {
	var ends int64
	err = r.Scan(&l.Name, &l.Owner, &ends)
	l.Ends = s.clock.local(record.Time(ends))
	return l, err
}
