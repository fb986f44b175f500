package sqlite

import (
	"context"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

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
