package sqlite

import (
	"context"

	"parley/backends/record"
	"parley/backends/sqlstore"
)

const (
	retainRows  = 200  // the messages that one call of Expire looks at: deleting one takes several statements
	shrinkPages = 1000 // the pages that one call of Expire returns to the system
)

// expireMessages deletes the expired ones of the next messages. They are numbered as they were stored, so the walk
// begins with the oldest and ends at a page without an expired one, whatever comes after it.
func (s *upkeep) expireMessages(ctx context.Context, before int64) (more bool, err error) {
	if before <= 0 {
		return false, nil
	}
	from := s.aged["memories"]
	var old []sqlstore.Gone
	err = s.read(ctx, func(db *conn) (err error) { old, _, err = expiredMessages(ctx, db, from, before); return err })
	if err != nil || len(old) == 0 {
		s.aged["memories"] = 0
		return false, err
	}
	var last int64
	err = s.forgetting(ctx, func(ctx context.Context, tx *conn) error {
		if old, last, err = expiredMessages(ctx, tx, from, before); err != nil {
			return err
		}
		for _, m := range old {
			if err := s.sql.ExpireMemory(ctx, (*sharedConn)(tx), m); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.aged["memories"] = last
	}
	return err == nil, err
}

// expiredMessages returns the expired messages among those after from, and the number of the last one that it looked at. Those of an
// open run stay until it ends.
func expiredMessages(ctx context.Context, db *conn, from, before int64) (old []sqlstore.Gone, last int64, err error) {
	_, err = list(ctx, db, func(r record.Row) (struct{}, error) {
		var m sqlstore.Gone
		var over bool
		err := r.Scan(&last, &m.ID, &m.Room, &m.Turn, &m.Role, &over)
		if over {
			old = append(old, m)
		}
		return struct{}{}, err
	}, `
		SELECT seq, id, room, turn, role, at < ?2 AND NOT EXISTS (SELECT 1 FROM runs WHERE room = m.room AND turn = m.turn AND status = '')
		FROM memories m WHERE seq > ?1 ORDER BY seq LIMIT ?3`, from, before, retainRows)
	return old, last, err
}

// expireFiles deletes the contents of files that have expired, with their thumbnails.
func (s *upkeep) expireFiles(ctx context.Context, before int64) (more bool, err error) {
	if before <= 0 {
		return false, nil
	}
	const uploads = `SELECT id FROM uploads WHERE NOT evicted AND message <> '' AND at < ?1 ORDER BY at, id LIMIT ?2`
	// A run id is room#turn, see record.RunID; its row can have expired before.
	const shown = `SELECT f.rowid FROM files f JOIN memories m ON m.room = substr(f.run, 1, length(rtrim(f.run, '0123456789')) - 1)
			AND m.turn = CAST(substr(f.run, length(rtrim(f.run, '0123456789')) + 1) AS INTEGER)
		WHERE m.role = 'said' AND m.at < ?1 LIMIT ?2`
	for _, kind := range []struct {
		find   string
		delete []string
	}{
		{uploads, []string{
			`DELETE FROM upload_pieces WHERE upload IN (` + uploads + `)`,
			`UPDATE uploads SET evicted = TRUE, thumbnail = FALSE WHERE id IN (` + uploads + `)`,
		}},
		{shown, []string{`DELETE FROM files WHERE rowid IN (` + shown + `)`}},
	} {
		var found int
		err = s.read(ctx, func(db *conn) error {
			return db.QueryRowContext(ctx, `SELECT count(*) FROM (`+kind.find+`)`, before, retainRows).Scan(&found)
		})
		if err == nil && found > 0 {
			err = s.forgetting(ctx, func(ctx context.Context, tx *conn) error {
				for _, statement := range kind.delete {
					if _, err := tx.ExecContext(ctx, statement, before, retainRows); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err != nil {
			return more, err
		}
		more = more || found == retainRows
	}
	return more, nil
}

// shrink returns a bounded number of free pages to the system when more than a quarter of the file is free, and reports whether there
// are more. A smaller rest is for new messages. Files of earlier versions can't shrink: see [incremental].
func (s *upkeep) shrink(ctx context.Context) (more bool, err error) {
	var all, free, mode int
	err = s.read(ctx, func(db *conn) error {
		return db.QueryRowContext(ctx, `SELECT page_count, freelist_count, auto_vacuum FROM pragma_page_count, pragma_freelist_count, pragma_auto_vacuum`).Scan(&all, &free, &mode)
	})
	if err != nil || mode != incrementalMode || free < shrinkPages/4 || free < all/4 {
		return false, err
	}
	// Forgetting, because the log still has the pages.
	err = s.forgetting(ctx, func(ctx context.Context, tx *conn) error {
		_, err := tx.ExecContext(ctx, `PRAGMA incremental_vacuum(1000)`)
		return err
	})
	return err == nil && free > shrinkPages, err
}

// incremental is the pragma that makes a new file able to shrink, and a copy by VACUUM INTO. It must come before the first
// write; files that have tables ignore it.
const incremental = "auto_vacuum = INCREMENTAL"

const incrementalMode = 2 // of the pragma auto_vacuum
