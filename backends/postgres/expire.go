package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"parley/core/chat"
)

// expireRows is the number of rows of each table that one call of Expire deletes or looks at. It bounds the time of
// each transaction.
const expireRows = 1000

// expiredRows delete rows by their age alone, with an index on it: $1 is the time that they must be older than,
// $2 the maximum number. SKIP LOCKED lets replicas that expire at the same time take different rows instead of waiting
// for each other.
var expiredRows = []string{
	`DELETE FROM marks WHERE id IN (SELECT id FROM marks WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE status <> '' AND opened < $1 ORDER BY opened LIMIT $2 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM questions WHERE id IN (SELECT id FROM questions q WHERE expires < $1
		AND NOT EXISTS (SELECT 1 FROM runs WHERE id IN (q.run, q.carrier)) ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM piece_vectors WHERE (model, piece) IN (
		SELECT model, piece FROM piece_vectors WHERE used < $1 ORDER BY used LIMIT $2 FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE expires < $1 AND decision <> 'always' ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)`,
}

// expiredNotes deletes notes by the time that each of them names.
const expiredNotes = `DELETE FROM room_notes WHERE seq IN (
	SELECT seq FROM room_notes WHERE expires > 0 AND expires < $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)`

// forsakenRows are the conditions for deleting rows of a table that nothing refers to any more; $3 is the
// time that they must be older than. No index answers them, so the tables are walked in steps.
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

// Expire implements [storage.Upkeep]. Replicas can call it at the same time. Each table has a transaction of its own,
// so that locks are held briefly. Deleted rows leave the files of the server when its autovacuum runs.
func (s *upkeep) Expire(ctx context.Context, before chat.Expiry) (more bool, err error) {
	s.expiring.Lock()
	defer s.expiring.Unlock()
	if more, err = s.expireContent(ctx, before); err != nil {
		return more, wrap(err, "deleting what has expired")
	}
	for i, statement := range expiredRows {
		age := before.Rest
		if i == 0 {
			age = before.Marks
		}
		further, err := s.expireOld(ctx, statement, age, expireRows)
		if err != nil {
			return more, wrap(err, "deleting what has expired")
		}
		more = more || further
	}
	further, err := s.expireOld(ctx, expiredNotes, time.Now(), expireRows)
	if err != nil {
		return more, wrap(err, "deleting notes that have expired")
	}
	more = more || further
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

// expireOld runs one of expiredRows. If it deleted as many rows as it could, there can be more.
func (s *upkeep) expireOld(ctx context.Context, statement string, before time.Time, rows int64) (more bool, err error) {
	var done pgconn.CommandTag
	err = s.write(ctx, nil, func(ctx context.Context, q querier) (err error) {
		done, err = q.Exec(ctx, statement, s.clock.stored(before), rows)
		return err
	})
	return done.RowsAffected() == rows, err
}

// expireForsaken looks at the next rows of a table, from where the previous call stopped, deletes those that can go,
// and reports whether there are more. A WITH part that deletes runs whether or not the main query reads it; the main
// query only returns the end of the step. table and old are constants of forsakenRows, never input.
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

// expireSessions deletes the rows of connections that committed nothing for a day. An outcome is looked up within
// seconds, and a connection that lives on gets a new row with its next transaction.
func (s *upkeep) expireSessions(ctx context.Context) error {
	return s.write(ctx, nil, func(ctx context.Context, q querier) error {
		_, err := q.Exec(ctx, `DELETE FROM commits WHERE session IN (
			SELECT session FROM commits WHERE at < now() - interval '1 day' FOR UPDATE SKIP LOCKED)`)
		return err
	})
}
