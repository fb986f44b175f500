package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"parley/core/chat"
)

// expireRows is how many rows of each table are looked at by one step of Expire.
const expireRows = 1000

// expiredRows are deleted by their age, which has an index; $1 is the time before which they have to be, $2 how many.
var expiredRows = []string{
	`DELETE FROM marks WHERE id IN (SELECT id FROM marks WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE status <> '' AND opened < $1 ORDER BY opened LIMIT $2 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM questions WHERE id IN (SELECT id FROM questions q WHERE expires < $1
		AND NOT EXISTS (SELECT 1 FROM runs WHERE id IN (q.run, q.carrier)) ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM piece_vectors WHERE (model, piece) IN (
		SELECT model, piece FROM piece_vectors WHERE used < $1 ORDER BY used LIMIT $2 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE expires < $1 AND decision <> 'always' ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)`,
}

// forsakenRows are deleted when nothing belongs to them any more, by table.
var forsakenRows = []struct{ table, old string }{
	{"uploads", `t.at < $3 AND NOT EXISTS (SELECT 1 FROM memories WHERE id = t.message)`},
	{"rooms", `t.created > 0 AND t.created < $3 AND t.world = '' AND t.attention = ''
		AND NOT EXISTS (SELECT 1 FROM memories WHERE room = t.id)
		AND NOT EXISTS (SELECT 1 FROM runs WHERE room = t.id)
		AND NOT EXISTS (SELECT 1 FROM room_notes WHERE room = t.id)
		AND NOT EXISTS (SELECT 1 FROM reminders WHERE room = t.id)
		AND NOT EXISTS (SELECT 1 FROM uploads WHERE room = t.id)
		AND NOT EXISTS (SELECT 1 FROM people WHERE address::json ->> 'room' = t.id)
		AND NOT EXISTS (SELECT 1 FROM knocks WHERE address::json ->> 'room' = t.id)`},
	{"entities", `t.met < $3 AND NOT EXISTS (SELECT 1 FROM memories WHERE author = t.id)
		AND NOT EXISTS (SELECT 1 FROM members WHERE entity = t.id AND NOT gone)
		AND NOT EXISTS (SELECT 1 FROM people WHERE id = t.id)`},
}

// Expire implements [storage.Upkeep]. Replicas can call it at the same time. The server's autovacuum takes deleted rows from its
// files.
func (s *upkeep) Expire(ctx context.Context, before chat.Expiry) (more bool, err error) {
	s.expiring.Lock()
	defer s.expiring.Unlock()
	for i, statement := range expiredRows {
		age := before.Rest
		if i == 0 {
			age = before.Marks
		}
		further, err := s.expireOld(ctx, statement, age)
		if err != nil {
			return more, wrap(err, "deleting what has expired")
		}
		more = more || further
	}
	for _, f := range forsakenRows {
		age := before.Rest
		if f.table == "uploads" {
			age = before.Uploads
		}
		further, err := s.expireForsaken(ctx, f.table, f.old, age)
		if err != nil {
			return more, wrap(err, "deleting what has expired")
		}
		more = more || further
	}
	return more, wrap(s.expireSessions(ctx), "deleting what has expired")
}

func (s *upkeep) expireOld(ctx context.Context, statement string, before time.Time) (more bool, err error) {
	var done pgconn.CommandTag
	err = s.write(ctx, nil, func(ctx context.Context, q querier) (err error) {
		done, err = q.Exec(ctx, statement, s.clock.stored(before), expireRows)
		return err
	})
	return done.RowsAffected() == expireRows, err
}

// expireForsaken looks at the next rows of a table, from where the call before has ended.
func (s *upkeep) expireForsaken(ctx context.Context, table, old string, before time.Time) (more bool, err error) {
	var last string
	err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, fmt.Sprintf(`
			WITH next AS (SELECT id FROM %[1]s WHERE id > $1 ORDER BY id LIMIT $2),
				gone AS (DELETE FROM %[1]s t USING next WHERE t.id = next.id AND %[2]s)
			SELECT coalesce(max(id), ''), count(*) = $2 FROM next`, table, old), s.aged[table], expireRows, s.clock.stored(before)).Scan(&last, &more)
	})
	if err != nil {
		return false, err
	}
	s.aged[table] = last
	if !more {
		s.aged[table] = ""
	}
	return more, nil
}

// expireSessions forgets connections that have ended.
func (s *upkeep) expireSessions(ctx context.Context) error {
	return s.write(ctx, nil, func(ctx context.Context, q querier) error {
		_, err := q.Exec(ctx, `DELETE FROM commits WHERE session IN (
			SELECT session FROM commits WHERE at < now() - interval '1 day' FOR UPDATE SKIP LOCKED)`)
		return err
	})
}
