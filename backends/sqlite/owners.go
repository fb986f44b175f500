package sqlite

import (
	"context"
	"time"

	"parley/backends/record"
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

// RenewLease implements [storage.Leases].
func (s *journal) RenewLease(ctx context.Context, owner string, until time.Time) error {
	err := s.write(ctx, func(ctx context.Context, tx *conn) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO owners (id, alive_until) VALUES (?, ?)
			ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until`, owner, record.Nanos(until))
		return err
	})
	return wrap(err, "renewing the lease of %q", owner)
}
