package postgres

import (
	"context"
	"time"

	"parley/backends/record"
	"parley/backends/sqlstore"
	"parley/core/chat"
)

// shared makes a database the one of the methods that both SQL stores share.
type shared struct{ *database }

// dialect is never changed. Names are compared by hashes of their lower case, as in the index rooms_by_name, because a name can be
// longer than an index entry; with the collation "C", lower changes Latin letters only, as SQLite's NOCASE does.
var dialect = sqlstore.Dialect{
	Name:       "postgres",
	Locks:      true,
	Least:      "LEAST",
	Greatest:   "GREATEST",
	Seq:        "seq",
	ForUpdate:  " FOR UPDATE",
	SkipLocked: " FOR UPDATE SKIP LOCKED",
	Inputs:     `coalesce(json_agg(m.id ORDER BY m.seq)::text, '')`,
	ShownID:    `CASE WHEN r.shown = '' THEN FALSE ELSE r.shown::jsonb @> jsonb_build_array(jsonb_build_object('id', $4::text)) END`,
	FirstChat:  `chats::jsonb ->> 0`,
	SameName:   `md5(lower(name)) = md5(lower($1 COLLATE "C"))`,
}

// sharedConn is a querier for these methods.
type sharedConn struct{ querier }

// Exec implements [sqlstore.Conn].
func (c sharedConn) Exec(ctx context.Context, query string, args ...any) (int, error) {
	done, err := c.querier.Exec(ctx, query, args...)
	return int(done.RowsAffected()), err
}

// Query implements [sqlstore.Conn].
func (c sharedConn) Query(ctx context.Context, query string, args ...any) (sqlstore.Rows, error) {
	return c.querier.Query(ctx, query, args...)
}

// QueryRow implements [sqlstore.Conn].
func (c sharedConn) QueryRow(ctx context.Context, query string, args ...any) record.Row {
	return c.querier.QueryRow(ctx, query, args...)
}

// Read implements [sqlstore.Database].
func (s shared) Read(ctx context.Context, do func(context.Context, sqlstore.Conn) error) error {
	return s.read(ctx, func(ctx context.Context, q querier) error { return do(ctx, sharedConn{q}) })
}

// Write implements [sqlstore.Database].
func (s shared) Write(ctx context.Context, c sqlstore.Change, do func(context.Context, sqlstore.Conn) error) error {
	return s.write(ctx, scopeFor(c.On), func(ctx context.Context, q querier) error { return do(ctx, sharedConn{q}) })
}

// Now, Present, Stored and Local implement [sqlstore.Database].
func (s shared) Now() time.Time              { return s.clock.now() }
func (s shared) Present() int64              { return s.clock.nanos() }
func (s shared) Stored(t time.Time) int64    { return s.clock.stored(t) }
func (s shared) Local(t time.Time) time.Time { return s.clock.local(t) }

// Remembering and Readdressing implement [sqlstore.Database]. Nothing is cached.
func (shared) Remembering(_ sqlstore.Conn, _ chat.Memory, _ chat.ResponseID, _, _ string, insert func() error) error {
	return insert()
}
func (shared) Readdressing(_ sqlstore.Conn, _ chat.RoomID, _ string, update func() error) error {
	return update()
}

// ReplaceWords implements [sqlstore.Database].
func (shared) ReplaceWords(ctx context.Context, tx sqlstore.Conn, m chat.Memory) error {
	return replaceWords(ctx, tx.(sharedConn).querier, m)
}

// Erasing implements [sqlstore.Database]. Deleted rows leave the files of the server when its autovacuum runs.
func (shared) Erasing() {}

// Bury implements [sqlstore.Database]. Backups of PostgreSQL are made by its own means, and repeat nothing.
func (shared) Bury(context.Context, sqlstore.Conn, sqlstore.Tombstone) error { return nil }
