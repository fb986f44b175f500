package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"parley/backends/record"
	"parley/core/chat"
)

// Room implements [storage.Rooms].
func (s *directory) Room(ctx context.Context, id chat.RoomID) (r chat.Room, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		r, err = record.ScanRoom(q.QueryRow(ctx, `SELECT `+record.RoomColumns+` FROM rooms WHERE id = $1`, id))
		return record.Found(err)
	})
	return r, wrap(err, "reading the room %q", id)
}

// maxNamed is the maximum number of rooms that RoomsNamed returns: more would not help a model or a person to choose.
const maxNamed = 10

// RoomsNamed implements [storage.RoomFinder]. Names are compared by hashes of their lower case, as in the index
// rooms_by_name, because a name can be longer than an index entry; with the collation "C", lower changes Latin letters
// only, as SQLite's NOCASE does.
func (s *directory) RoomsNamed(ctx context.Context, name string, author chat.EntityID) (rooms []chat.Room, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		found, err := q.Query(ctx, `
			SELECT `+record.RoomColumns+` FROM rooms
			WHERE (id = $1 OR name <> '' AND md5(lower(name)) = md5(lower($1 COLLATE "C")))
				AND NOT gone AND ($2::text = '' OR EXISTS (SELECT 1 FROM memories WHERE author = $2 AND room = rooms.id))
				AND NOT EXISTS (SELECT 1 FROM members WHERE world = rooms.world AND entity = $2 AND gone)
			ORDER BY created, id LIMIT $3`, name, author, maxNamed)
		rooms, err = collect(found, err, record.ScanRoom)
		return err
	})
	return rooms, wrap(err, "looking for the room %q", name)
}

// DirectRoom implements [storage.RoomFinder].
func (s *directory) DirectRoom(ctx context.Context, author chat.EntityID) (r chat.Room, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		r, err = record.ScanRoom(q.QueryRow(ctx, `
			SELECT `+record.RoomColumns+` FROM rooms JOIN (SELECT room, max(seq) AS last FROM memories WHERE author = $1 GROUP BY room) written ON written.room = rooms.id
			WHERE kind = $2 AND NOT gone ORDER BY last DESC LIMIT 1`, author, chat.Direct))
		return record.Found(err)
	})
	return r, wrap(err, "looking for the direct chat of %q", author)
}

// ChatRoom implements [storage.RoomFinder].
func (s *directory) ChatRoom(ctx context.Context, connector, id string) (r chat.Room, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		r, err = record.ScanRoom(q.QueryRow(ctx, `
			SELECT `+record.RoomColumns+` FROM rooms WHERE connector = $1 AND NOT gone AND chats <> '' AND chats::jsonb ->> 0 = $2
			ORDER BY created DESC, id LIMIT 1`, connector, id))
		return record.Found(err)
	})
	return r, wrap(err, "looking for the chat %q", id)
}

// SaveRoom implements [storage.Rooms].
func (s *directory) SaveRoom(ctx context.Context, r chat.Room) error {
	err := record.CheckRoom(r)
	if err == nil {
		err = s.write(ctx, roomScope(r.ID), func(ctx context.Context, q querier) error { return saveRoom(ctx, q, r) })
	}
	return wrap(err, "saving the room %q", r.ID)
}

// saveRoom stores r. It writes nothing if nothing has changed, which every accepted message would otherwise pay for. An
// empty address keeps the stored one: it is where the room was last reached.
func saveRoom(ctx context.Context, q querier, r chat.Room) error {
	_, err := q.Exec(ctx, `
		INSERT INTO rooms (id, world, kind, connector, name, chats, created, address, gone) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (id) DO UPDATE SET
			world = excluded.world, kind = excluded.kind, connector = excluded.connector, name = excluded.name,
			chats = excluded.chats, address = coalesce(nullif(excluded.address, ''), rooms.address), gone = excluded.gone
		WHERE (rooms.world, rooms.kind, rooms.connector, rooms.name, rooms.chats, rooms.address, rooms.gone) IS DISTINCT FROM (excluded.world, excluded.kind, excluded.connector,
			excluded.name, excluded.chats, coalesce(nullif(excluded.address, ''), rooms.address), excluded.gone)`,
		r.ID, r.World, r.Kind, r.Connector, r.Name, record.List(r.Chats), record.Nanos(r.Created), record.AddressOf(r.Address), r.Gone)
	return err
}

// Attention implements [storage.RoomAttentions].
func (s *directory) Attention(ctx context.Context, room chat.RoomID) (a chat.Attention, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `SELECT attention FROM rooms WHERE id = $1`, room).Scan(&a))
	})
	if errors.Is(err, chat.ErrNotFound) {
		return chat.Normal, nil
	}
	return a, wrap(err, "reading the attention for the room %q", room)
}

// SetAttention implements [storage.RoomAttentions].
func (s *directory) SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error {
	err := s.write(ctx, roomScope(room), func(ctx context.Context, q querier) error {
		return record.Found(q.QueryRow(ctx, `UPDATE rooms SET attention = $1 WHERE id = $2 RETURNING id`, a, room).Scan(&room))
	})
	return wrap(err, "setting the attention for the room %q", room)
}

// nextTurn returns the next turn number of a room that exists. Numbers rise within a room and are never given twice,
// because the counter is stored with the room and survives the deletion of its messages.
func nextTurn(ctx context.Context, q querier, room chat.RoomID) (turn chat.ResponseID, err error) {
	err = q.QueryRow(ctx, `UPDATE rooms SET turns = turns + 1 WHERE id = $1 RETURNING turns`, room).Scan(&turn)
	return turn, err
}

// nextTurnIn saves r and returns its next turn number. A room that is stored as it is, except for its address, takes one statement: that
// is nearly every message, and each has an address of its own.
func nextTurnIn(ctx context.Context, q querier, r chat.Room) (turn chat.ResponseID, err error) {
	err = q.QueryRow(ctx, `
		UPDATE rooms SET turns = turns + 1, address = coalesce(nullif($1, ''), address)
		WHERE id = $2 AND (world, kind, connector, name, chats, gone) IS NOT DISTINCT FROM ($3, $4, $5, $6, $7, $8)
		RETURNING turns`,
		record.AddressOf(r.Address), r.ID, r.World, r.Kind, r.Connector, r.Name, record.List(r.Chats), r.Gone).Scan(&turn)
	if !errors.Is(err, pgx.ErrNoRows) {
		return turn, err
	}
	if err = saveRoom(ctx, q, r); err != nil {
		return 0, err
	}
	return nextTurn(ctx, q, r.ID)
}
