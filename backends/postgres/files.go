package postgres

import (
	"context"
	"math"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/llm"
)

// File implements [storage.Files].
func (s *memories) File(ctx context.Context, run chat.RunID, n int) (b llm.File, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `SELECT name, type, data FROM files WHERE run = $1 AND n = $2`, run, n).Scan(&b.Name, &b.Type, &b.Data))
	})
	return b, wrap(err, "reading file %d of %q", n, run)
}

// FilePart implements [storage.Files]. substr reads only the pages that it needs, because the column is stored
// uncompressed (see the migration). Its positions are 32-bit, so larger ones are limited to the largest, past the end
// of any file.
func (s *memories) FilePart(ctx context.Context, run chat.RunID, n int, from, length int64) (p chat.FilePart, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `SELECT name, type, length(data), CASE WHEN $1::int > 0 THEN substr(data, $2::int, $1::int) END
			FROM files WHERE run = $3 AND n = $4`, min(length, math.MaxInt32), min(from+1, math.MaxInt32), run, n).
			Scan(&p.Name, &p.Type, &p.Size, &p.Data))
	})
	return p, wrap(err, "reading a part of file %d of %q", n, run)
}

// keepFiles replaces the files of a run. Verdicts refer to files by number, so the numbers begin at 0 again.
func keepFiles(ctx context.Context, q querier, run chat.RunID, all []llm.File) error {
	if _, err := q.Exec(ctx, `DELETE FROM files WHERE run = $1`, run); err != nil {
		return err
	}
	for n, b := range all {
		if b.Data == nil {
			// The driver stores a nil slice as NULL, which the column doesn't take.
			b.Data = []byte{}
		}
		if _, err := q.Exec(ctx, `INSERT INTO files (run, n, name, type, data) VALUES ($1, $2, $3, $4, $5)`, run, n, b.Name, b.Type, b.Data); err != nil {
			return err
		}
	}
	return nil
}
