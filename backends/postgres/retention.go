package postgres

import (
	"context"
	"strconv"
	"time"

	"parley/backends/record"
	"parley/backends/sqlstore"
	"parley/core/chat"
)

// retainRows is the number of messages that one call of Expire looks at: deleting one takes a transaction.
const retainRows = 100

// expireContent deletes messages and the contents of files that have expired.
func (s *upkeep) expireContent(ctx context.Context, before chat.Expiry) (more bool, err error) {
	if !before.Messages.IsZero() {
		more, err = s.expireMessages(ctx, before.Messages)
	}
	if err == nil && !before.Files.IsZero() {
		var further bool
		further, err = s.expireFiles(ctx, before.Files)
		more = more || further
	}
	return more, err
}

// expireMessages deletes the expired ones of the next messages. They are numbered as they were stored, so the walk
// begins with the oldest and ends at a page without an expired one, whatever comes after it. Each message has a transaction of its own,
// because it needs the lock of its room.
func (s *upkeep) expireMessages(ctx context.Context, before time.Time) (more bool, err error) {
	old, last, err := s.expiredMessages(ctx, before)
	if err != nil {
		return false, err
	}
	for _, m := range old {
		err := s.write(ctx, roomScope(m.Room), func(ctx context.Context, q querier) error {
			var open bool // it could have begun meanwhile
			err := q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE room = $1 AND turn = $2 AND status = '')`, m.Room, m.Turn).Scan(&open)
			if err != nil || open {
				return err
			}
			return s.sql.ExpireMemory(ctx, sharedConn{q}, m)
		})
		if err != nil {
			return false, err
		}
	}
	s.aged["memories"] = last
	return last != "", nil
}

// expiredMessages returns the expired messages of the next page, and the number of its last one, or "" at the end of the walk. Those of
// an open run stay until it ends.
func (s *upkeep) expiredMessages(ctx context.Context, before time.Time) (old []sqlstore.Gone, last string, err error) {
	from, _ := strconv.ParseInt(s.aged["memories"], 10, 64) // "" is the beginning
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		old, last = nil, ""
		_, err = list(ctx, q, func(r record.Row) (struct{}, error) {
			var m sqlstore.Gone
			var over bool
			err := r.Scan(&from, &m.ID, &m.Room, &m.Turn, &m.Role, &over)
			if over {
				old = append(old, m)
			}
			return struct{}{}, err
		}, `
			SELECT seq, id, room, turn, role, at < $2 AND NOT EXISTS (SELECT 1 FROM runs WHERE room = m.room AND turn = m.turn AND status = '')
			FROM memories m WHERE seq > $1 ORDER BY seq LIMIT $3`, from, record.Nanos(before), retainRows)
		if len(old) > 0 {
			last = strconv.FormatInt(from, 10)
		}
		return err
	})
	return old, last, err
}

// expireFiles deletes the contents of files that have expired, with their thumbnails.
func (s *upkeep) expireFiles(ctx context.Context, before time.Time) (more bool, err error) {
	for _, statement := range []string{
		`WITH old AS (SELECT id FROM uploads WHERE NOT evicted AND message <> '' AND at < $1 ORDER BY at, id LIMIT $2 FOR UPDATE SKIP LOCKED),
			pieces AS (DELETE FROM upload_pieces USING old WHERE upload = old.id)
			UPDATE uploads u SET evicted = true, thumbnail = false FROM old WHERE u.id = old.id`,
		// A run id is room#turn, see record.RunID; its row can have expired before.
		`DELETE FROM files WHERE (run, n) IN (SELECT f.run, f.n FROM files f JOIN memories m ON m.room = regexp_replace(f.run, '#[0-9]+$', '')
				AND m.turn = substring(f.run FROM '[0-9]+$')::bigint
			WHERE m.role = 'said' AND m.at < $1 LIMIT $2 FOR UPDATE OF f SKIP LOCKED)`,
	} {
		further, err := s.expireOld(ctx, statement, before, retainRows)
		if err != nil {
			return more, err
		}
		more = more || further
	}
	return more, nil
}
