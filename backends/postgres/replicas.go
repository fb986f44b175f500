package postgres

import (
	"context"

	"parley/backends/record"
	"parley/core/chat"
)

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
