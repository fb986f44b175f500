package sqlite

import (
	"context"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/llm"
)

// File implements [storage.Files].
func (s *memories) File(ctx context.Context, run chat.RunID, n int) (b llm.File, err error) {
	err = s.read(ctx, func(db *conn) error {
		return record.Found(db.QueryRowContext(ctx, `SELECT name, type, data FROM files WHERE run = ? AND n = ?`, run, n).Scan(&b.Name, &b.Type, &b.Data))
	})
	return b, wrap(err, "reading file %d of %q", n, run)
}

// FilePart implements [storage.Files].
func (s *memories) FilePart(ctx context.Context, run chat.RunID, n int, from, length int64) (p chat.FilePart, err error) {
	err = s.read(ctx, func(db *conn) error {
		return record.Found(db.QueryRowContext(ctx, `SELECT name, type, length(data), CASE WHEN ?1 > 0 THEN substr(data, ?2, ?1) END
			FROM files WHERE run = ?3 AND n = ?4`, length, from+1, run, n).
			Scan(&p.Name, &p.Type, &p.Size, &p.Data))
	})
	return p, wrap(err, "reading a part of file %d of %q", n, run)
}

// keepFiles replaces the files of a run. Verdicts refer to files by number, so the numbers begin at 0 again.
func keepFiles(ctx context.Context, tx *conn, run chat.RunID, all []llm.File) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM files WHERE run = ?`, run); err != nil {
		return err
	}
	for n, b := range all {
		if _, err := tx.ExecContext(ctx, `INSERT INTO files (run, n, name, type, data) VALUES (?, ?, ?, ?, ?)`, run, n, b.Name, b.Type, b.Data); err != nil {
			return err
		}
	}
	return nil
}
