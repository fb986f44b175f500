package sqlstore

import (
	"context"
	"errors"

	"database/sql"

	"parley/backends/record"
	"parley/core/chat"
)

// SelectRoom selects the columns that [record.ScanRoom] reads of one room.
const SelectRoom = `SELECT ` + record.RoomColumns + ` FROM rooms WHERE id = $1`

// Room implements [storage.Rooms].
func (s *directory) Room(ctx context.Context, id chat.RoomID) (chat.Room, error) {
	r, err := one(ctx, s.Shared, record.ScanRoom, SelectRoom, id)
	return r, s.wrap(err, "reading the room %q", id)
}

// maxNamed is the maximum number of rooms that RoomsNamed returns: more would not help a model or a person to choose.
const maxNamed = 10

// RoomsNamed implements [storage.RoomFinder].
func (s *directory) RoomsNamed(ctx context.Context, name string, author chat.EntityID) ([]chat.Room, error) {
	rooms, err := list(ctx, s.Shared, record.ScanRoom, `
		SELECT `+record.RoomColumns+` FROM rooms
		WHERE (id = $1 OR name <> '' AND `+s.SameName+`)
			AND NOT gone AND (CAST($2 AS text) = '' OR EXISTS (SELECT 1 FROM memories WHERE author = $2 AND room = rooms.id))
			AND NOT EXISTS (SELECT 1 FROM members WHERE world = rooms.world AND entity = $2 AND gone)
		ORDER BY created, id LIMIT $3`, name, author, maxNamed)
	return rooms, s.wrap(err, "looking for the room %q", name)
}

// DirectRoom implements [storage.RoomFinder].
func (s *directory) DirectRoom(ctx context.Context, author chat.EntityID) (chat.Room, error) {
	r, err := one(ctx, s.Shared, record.ScanRoom, `
		SELECT `+record.RoomColumns+` FROM rooms
			JOIN (SELECT room, max(seq) AS last FROM memories WHERE author = $1 GROUP BY room) written ON written.room = rooms.id
		WHERE kind = $2 AND NOT gone ORDER BY last DESC LIMIT 1`, author, chat.Direct)
	return r, s.wrap(err, "looking for the direct chat of %q", author)
}

// ChatRoom implements [storage.RoomFinder].
func (s *directory) ChatRoom(ctx context.Context, connector, id string) (chat.Room, error) {
	r, err := one(ctx, s.Shared, record.ScanRoom, `
		SELECT `+record.RoomColumns+` FROM rooms WHERE connector = $1 AND NOT gone AND chats <> '' AND `+s.FirstChat+` = $2
		ORDER BY created DESC, id LIMIT 1`, connector, id)
	return r, s.wrap(err, "looking for the chat %q", id)
}

// SaveRoom implements [storage.Rooms].
func (s *directory) SaveRoom(ctx context.Context, r chat.Room) error {
	err := record.CheckRoom(r)
	if err == nil {
		err = s.Write(ctx, s.room(r.ID), func(ctx context.Context, tx Conn) error { return saveRoom(ctx, tx, r) })
	}
	return s.wrap(err, "saving the room %q", r.ID)
}

// saveRoom stores r. It writes nothing if nothing has changed, which every accepted message would otherwise pay for. An
// empty address keeps the stored one: it is where the room was last reached.
func saveRoom(ctx context.Context, tx Conn, r chat.Room) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO rooms (id, world, kind, connector, name, chats, created, address, gone) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (id) DO UPDATE SET
			world = excluded.world, kind = excluded.kind, connector = excluded.connector, name = excluded.name,
			chats = excluded.chats, address = coalesce(nullif(excluded.address, ''), rooms.address), gone = excluded.gone
		WHERE (rooms.world, rooms.kind, rooms.connector, rooms.name, rooms.chats, rooms.address, rooms.gone) IS DISTINCT FROM (excluded.world, excluded.kind, excluded.connector,
			excluded.name, excluded.chats, coalesce(nullif(excluded.address, ''), rooms.address), excluded.gone)`,
		r.ID, r.World, r.Kind, r.Connector, r.Name, record.List(r.Chats), record.Nanos(r.Created), record.AddressOf(r.Address), r.Gone)
	return err
}

// SelectAttention selects the attention for a room.
const SelectAttention = `SELECT attention FROM rooms WHERE id = $1`

// Attention implements [storage.RoomAttentions].
func (s *directory) Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error) {
	a, err := one(ctx, s.Shared, scan[chat.Attention], SelectAttention, room)
	return a, s.wrap(record.UnlessMissing(err), "reading the attention for the room %q", room) // the zero value is chat.Normal
}

// SetAttention implements [storage.RoomAttentions].
func (s *directory) SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error {
	err := s.Write(ctx, s.room(room), func(ctx context.Context, tx Conn) error {
		return record.Found(tx.QueryRow(ctx, `UPDATE rooms SET attention = $1 WHERE id = $2 RETURNING id`, a, room).Scan(&room))
	})
	return s.wrap(err, "setting the attention for the room %q", room)
}

// nextTurn returns the next turn number of a room that exists. Numbers rise within a room and are never given twice,
// because the counter is stored with the room and survives the deletion of its messages.
func nextTurn(ctx context.Context, tx Conn, room chat.RoomID) (chat.ResponseID, error) {
	return scan[chat.ResponseID](tx.QueryRow(ctx, `UPDATE rooms SET turns = turns + 1 WHERE id = $1 RETURNING turns`, room))
}

// nextTurnIn saves r and returns its next turn number. A room that is stored as it is, except for its address, takes one statement: that
// is nearly every message, and each has an address of its own.
func (s *Shared) nextTurnIn(ctx context.Context, tx Conn, r chat.Room) (turn chat.ResponseID, err error) {
	address := record.AddressOf(r.Address)
	err = s.Readdressing(tx, r.ID, address, func() error {
		return tx.QueryRow(ctx, `
			UPDATE rooms SET turns = turns + 1, address = coalesce(nullif($1, ''), address)
			WHERE id = $2 AND (world, kind, connector, name, chats, gone) IS NOT DISTINCT FROM ($3, $4, $5, $6, $7, $8)
			RETURNING turns`,
			address, r.ID, r.World, r.Kind, r.Connector, r.Name, record.List(r.Chats), r.Gone).Scan(&turn)
	})
	if !errors.Is(err, sql.ErrNoRows) {
		return turn, err
	}
	if err = saveRoom(ctx, tx, r); err != nil {
		return 0, err
	}
	return nextTurn(ctx, tx, r.ID)
}
