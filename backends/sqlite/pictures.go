package sqlite

import (
	"context"
	"database/sql"

	"parley/core"
)

// Picture implements [core.Pictures].
func (s *Store) Picture(ctx context.Context, run core.RunID, n int) (b core.Blob, err error) {
	err = s.read(func(db *sql.DB) error {
		return found(db.QueryRowContext(ctx, `SELECT type, data FROM pictures WHERE run = ? AND n = ?`, run, n).Scan(&b.Type, &b.Data))
	})
	return b, wrap(err, "reading picture %d of %q", n, run)
}

// keepPictures puts all in place of those that a run had.
func keepPictures(ctx context.Context, tx *sql.Tx, run core.RunID, all []core.Blob) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM pictures WHERE run = ?`, run); err != nil {
		return err
	}
	for n, b := range all {
		if _, err := tx.ExecContext(ctx, `INSERT INTO pictures (run, n, type, data) VALUES (?, ?, ?, ?)`, run, n, b.Type, b.Data); err != nil {
			return err
		}
	}
	return nil
}
