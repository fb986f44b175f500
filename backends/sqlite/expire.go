package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

// expireRows is the number of rows of each table that one call of Expire looks at. Writers wait for each deletion, so
// it is bounded.
const expireRows = 1000

// expiring lists the conditions for expired rows of a table; ?3 is the time that they must be older than. A
// row goes only when nothing refers to it any more. The condition on runs of a room is a range of their ids, because no
// index begins with the room of ended runs.
func expiring() []struct{ table, old string } {
	return []struct{ table, old string }{
		{"uploads", `at < ?3 AND NOT EXISTS (SELECT 1 FROM memories WHERE id = uploads.message)`},
		{"runs", `status <> '' AND opened < ?3`},
		{"questions", `expires < ?3 AND NOT EXISTS (SELECT 1 FROM runs WHERE id IN (questions.run, questions.carrier))`},
		{"approvals", `expires < ?3 AND decision <> 'always'`},
		{"rooms", `created > 0 AND created < ?3 AND world = '' AND attention = ''
			AND NOT EXISTS (SELECT 1 FROM memories WHERE room = rooms.id)
			AND NOT EXISTS (SELECT 1 FROM runs WHERE id BETWEEN rooms.id || '#' AND rooms.id || '$')
			AND NOT EXISTS (SELECT 1 FROM room_notes WHERE room = rooms.id)
			AND NOT EXISTS (SELECT 1 FROM reminders WHERE room = rooms.id)
			AND NOT EXISTS (SELECT 1 FROM uploads WHERE room = rooms.id)
			AND NOT EXISTS (SELECT 1 FROM people WHERE address ->> '$.room' = rooms.id)
			AND NOT EXISTS (SELECT 1 FROM knocks WHERE address ->> '$.room' = rooms.id)`},
		{"entities", `met < ?3 AND NOT EXISTS (SELECT 1 FROM memories WHERE author = entities.id)
			AND NOT EXISTS (SELECT 1 FROM members WHERE entity = entities.id AND NOT gone)
			AND NOT EXISTS (SELECT 1 FROM people WHERE id = entities.id)`},
		{"piece_vectors", `used < ?3`},
		{"room_notes", `expires > 0 AND expires < ?3`},
	}
}

// Expire implements [storage.Upkeep]. Each call looks at the next expireRows rows of each table, from where the
// previous one stopped, so no index by age is needed, which every message would have to keep up to date. The last call
// of a round empties the log.
func (s *upkeep) Expire(ctx context.Context, before chat.Expiry) (more bool, err error) {
	s.expiring.Lock()
	defer s.expiring.Unlock()
	for _, expire := range []struct {
		do     func(context.Context, int64) (bool, error)
		before time.Time
	}{{s.expireMessages, before.Messages}, {s.expireFiles, before.Files}, {s.expireMarks, before.Marks}} {
		if err == nil {
			var further bool
			further, err = expire.do(ctx, record.Nanos(expire.before))
			more = more || further
		}
	}
	for _, e := range expiring() {
		if err == nil {
			age := before.Rest
			switch e.table {
			case "uploads":
				age = before.Uploads
			case "room_notes": // they name their own time
				age = time.Now()
			}
			var further bool
			further, err = s.expireRows(ctx, e.table, e.old, record.Nanos(age))
			more = more || further
		}
	}
	if err == nil && !more {
		more, err = s.shrink(ctx)
	}
	if err == nil && !more {
		err = s.truncate(ctx)
	}
	return more, wrap(err, "deleting what has expired")
}

// expireMarks is expireRows for marks: they have no rowid, and their keys are hashes. It reads first and writes only if
// a mark in the range has expired, so a walk over a large table normally costs no transaction.
func (s *upkeep) expireMarks(ctx context.Context, before int64) (more bool, err error) {
	from := s.expired // never nil: compared with NULL, no key would be greater
	var last []byte
	var old int
	err = s.read(ctx, func(db *conn) error {
		return db.QueryRowContext(ctx, `
			SELECT max(id), count(*) = ?3, count(*) FILTER (WHERE at < ?2)
			FROM (SELECT id, at FROM marks WHERE id > ?1 ORDER BY id LIMIT ?3)`, from, before, expireRows).Scan(&last, &more, &old)
	})
	if err == nil && old > 0 {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM marks WHERE id > ? AND id <= ? AND at < ?`, from, last, before)
			return err
		})
	}
	if err != nil {
		return false, err
	}
	s.expired = last
	if !more {
		s.expired = []byte{}
	}
	return more, nil
}

// expireRows deletes expired rows among the next rows of a table, and reports whether there are more rows. It
// writes only if there is something to delete. table and old are constants of expiring, never input.
func (s *upkeep) expireRows(ctx context.Context, table, old string, before int64) (more bool, err error) {
	from := s.aged[table]
	var last sql.NullInt64
	var some int
	err = s.read(ctx, func(db *conn) error {
		err := db.QueryRowContext(ctx, `
			SELECT max(rowid), count(*) = ?2 FROM (SELECT rowid FROM `+table+` WHERE rowid > ?1 ORDER BY rowid LIMIT ?2)`,
			from, expireRows).Scan(&last, &more)
		if err != nil || !last.Valid {
			return err
		}
		err = db.QueryRowContext(ctx, `SELECT 1 FROM `+table+` WHERE rowid > ?1 AND rowid <= ?2 AND `+old+` LIMIT 1`,
			from, last.Int64, before).Scan(&some)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err == nil && some > 0 {
		err = s.forgetting(ctx, func(ctx context.Context, tx *conn) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE rowid > ?1 AND rowid <= ?2 AND `+old, from, last.Int64, before)
			return err
		})
	}
	if err != nil {
		return false, err
	}
	s.aged[table] = last.Int64
	if !more {
		s.aged[table] = 0
	}
	return more, nil
}
