package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"parley/backends/record"
	"parley/backends/sqlstore"
	"parley/core/chat"
)

// shared makes a database the one of the methods that both SQL stores share.
type shared struct{ *database }

// dialect is never changed.
var dialect = sqlstore.Dialect{
	Name:      "sqlite",
	Least:     "min",
	Greatest:  "max",
	Seq:       "rowid",
	Inputs:    `json_group_array(m.id ORDER BY m.seq)`,
	ShownID:   `r.shown <> '' AND EXISTS (SELECT 1 FROM json_each(r.shown) WHERE value ->> '$.id' = $4)`,
	FirstChat: `json_extract(chats, '$[0]')`,
	SameName:  `name = $1 COLLATE NOCASE`,
}

// sharedConn is a conn for these methods.
type sharedConn conn

// Exec implements [sqlstore.Conn].
func (c *sharedConn) Exec(ctx context.Context, query string, args ...any) (int, error) {
	return (*conn)(c).ExecContext(ctx, query, args...)
}

// Query implements [sqlstore.Conn].
func (c *sharedConn) Query(ctx context.Context, query string, args ...any) (sqlstore.Rows, error) {
	r, err := (*conn)(c).QueryContext(ctx, query, args...)
	return sharedRows{r}, err
}

// QueryRow implements [sqlstore.Conn].
func (c *sharedConn) QueryRow(ctx context.Context, query string, args ...any) record.Row {
	r := (*conn)(c).QueryRowContext(ctx, query, args...)
	if r.err != nil {
		return r
	}
	r.of.row = r // in the memory of its statement
	return &r.of.row
}

// sharedRows are rows whose Close returns nothing: its error is not that of the statement.
type sharedRows struct{ *rows }

// Close implements [sqlstore.Rows].
func (r sharedRows) Close() { _ = r.rows.Close() }

// Read implements [sqlstore.Database].
func (s shared) Read(ctx context.Context, do func(context.Context, sqlstore.Conn) error) error {
	return s.read(ctx, func(db *conn) error { return do(ctx, (*sharedConn)(db)) })
}

// Write implements [sqlstore.Database].
func (s shared) Write(ctx context.Context, c sqlstore.Change, do func(context.Context, sqlstore.Conn) error) error {
	return s.commit(ctx, &job{background: c.Background, do: func(ctx context.Context, tx *conn) error {
		if c.Deletes {
			s.deleted.Store(true) // as in forgetting
		}
		return do(ctx, (*sharedConn)(tx))
	}})
}

// Now, Present, Stored and Local implement [sqlstore.Database]: the clock of the process is the only one.
func (shared) Now() time.Time              { return time.Now() }
func (shared) Present() int64              { return record.Nanos(time.Now()) }
func (shared) Stored(t time.Time) int64    { return record.Nanos(t) }
func (shared) Local(t time.Time) time.Time { return t }

// Remembering implements [sqlstore.Database]: the history in the cache gets the memory as a reader would get it.
func (shared) Remembering(tx sqlstore.Conn, m chat.Memory, turn chat.ResponseID, said, content string, insert func() error) error {
	longer := func(before value) value {
		m, err := record.ReadBack(m, said, content)
		if err != nil {
			return nil
		}
		return before.(history).with(m, turn)
	}
	return tx.(*sharedConn).changes.expecting(change{subject{cachedMemories, string(m.Room), string(m.Kind)}, longer}, insert)
}

// Readdressing implements [sqlstore.Database].
func (shared) Readdressing(tx sqlstore.Conn, room chat.RoomID, address string, update func() error) error {
	moved := func(before value) value {
		r := before.(cachedRoom)
		r.Address = chat.Address{}
		if json.Unmarshal([]byte(address), &r.Address) != nil {
			return nil
		}
		return r
	}
	return tx.(*sharedConn).changes.expecting(change{subject{cachedRooms, string(room), ""}, moved}, update)
}

// ReplaceWords implements [sqlstore.Database].
func (shared) ReplaceWords(ctx context.Context, tx sqlstore.Conn, m chat.Memory) error {
	return replaceWords(ctx, (*conn)(tx.(*sharedConn)), m)
}

// Erasing implements [sqlstore.Database].
func (s shared) Erasing() { s.deleted.Store(true) }

// Bury implements [sqlstore.Database].
func (s shared) Bury(ctx context.Context, tx sqlstore.Conn, t sqlstore.Tombstone) error {
	return s.tombstones.add(ctx, (*conn)(tx.(*sharedConn)), t)
}
