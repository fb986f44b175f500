package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"parley/backends/record"
	"parley/core/chat"
)

// Room implements [storage.Rooms].
func (s *directory) Room(ctx context.Context, id chat.RoomID) (chat.Room, error) {
	r, err := cached(ctx, s.database, subject{cachedRooms, string(id), ""}, nil, func(ctx context.Context, db *conn) (cachedRoom, error) {
		r, err := record.ScanRoom(db.QueryRowContext(ctx, `SELECT `+record.RoomColumns+` FROM rooms WHERE id = ?`, id))
		return cachedRoom{r}, record.Found(err)
	})
	return r.Room, wrap(err, "reading the room %q", id)
}

// maxNamed is the maximum number of rooms that RoomsNamed returns: more would not help a model or a person to choose.
const maxNamed = 10

// RoomsNamed implements [storage.RoomFinder].
func (s *directory) RoomsNamed(ctx context.Context, name string, author chat.EntityID) (rooms []chat.Room, err error) {
	err = s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, `
			SELECT `+record.RoomColumns+` FROM rooms
			WHERE (id = ?1 OR name <> '' AND name = ?1 COLLATE NOCASE)
				AND NOT gone AND (?2 = '' OR EXISTS (SELECT 1 FROM memories WHERE author = ?2 AND room = rooms.id))
				AND NOT EXISTS (SELECT 1 FROM members WHERE world = rooms.world AND entity = ?2 AND gone)
			ORDER BY created, id LIMIT ?3`, name, author, maxNamed)
		if err != nil {
			return err
		}
		rooms, err = collect(rows, record.ScanRoom)
		return err
	})
	return rooms, wrap(err, "looking for the room %q", name)
}

// DirectRoom implements [storage.RoomFinder].
func (s *directory) DirectRoom(ctx context.Context, author chat.EntityID) (r chat.Room, err error) {
	err = s.read(ctx, func(db *conn) error {
		r, err = record.ScanRoom(db.QueryRowContext(ctx, `
			SELECT `+record.RoomColumns+` FROM rooms JOIN (SELECT room, max(seq) AS last FROM memories WHERE author = ? GROUP BY room) ON room = rooms.id
			WHERE kind = ? AND NOT gone ORDER BY last DESC LIMIT 1`, author, chat.Direct))
		return record.Found(err)
	})
	return r, wrap(err, "looking for the direct chat of %q", author)
}

// ChatRoom implements [storage.RoomFinder].
func (s *directory) ChatRoom(ctx context.Context, connector, id string) (r chat.Room, err error) {
	err = s.read(ctx, func(db *conn) error {
		r, err = record.ScanRoom(db.QueryRowContext(ctx, `
			SELECT `+record.RoomColumns+` FROM rooms WHERE connector = ? AND NOT gone AND chats <> '' AND json_extract(chats, '$[0]') = ?
			ORDER BY created DESC, id LIMIT 1`, connector, id))
		return record.Found(err)
	})
	return r, wrap(err, "looking for the chat %q", id)
}

// SaveRoom implements [storage.Rooms].
func (s *directory) SaveRoom(ctx context.Context, r chat.Room) error {
	err := record.CheckRoom(r)
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error { return saveRoom(ctx, tx, r) })
	}
	return wrap(err, "saving the room %q", r.ID)
}

// saveRoom stores r. It writes nothing if nothing has changed, which every accepted message would otherwise pay for. An
// empty address keeps the stored one: it is where the room was last reached.
func saveRoom(ctx context.Context, tx *conn, r chat.Room) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO rooms (id, world, kind, connector, name, chats, created, address, gone) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET
			world = excluded.world, kind = excluded.kind, connector = excluded.connector, name = excluded.name,
			chats = excluded.chats, address = ifnull(nullif(excluded.address, ''), address), gone = excluded.gone
		WHERE (world, kind, connector, name, chats, address, gone) IS NOT (excluded.world, excluded.kind, excluded.connector,
			excluded.name, excluded.chats, ifnull(nullif(excluded.address, ''), address), excluded.gone)`,
		r.ID, r.World, r.Kind, r.Connector, r.Name, record.List(r.Chats), record.Nanos(r.Created), record.AddressOf(r.Address), r.Gone)
	return err
}

// Attention implements [storage.RoomAttentions].
func (s *directory) Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error) {
	a, err := cached(ctx, s.database, subject{cachedAttention, string(room), ""}, nil, func(ctx context.Context, db *conn) (a attention, err error) {
		err = record.Found(db.QueryRowContext(ctx, `SELECT attention FROM rooms WHERE id = ?`, room).Scan(&a))
		return a, err
	})
	if errors.Is(err, chat.ErrNotFound) {
		return chat.Normal, nil
	}
	return chat.Attention(a), wrap(err, "reading the attention for the room %q", room)
}

// SetAttention implements [storage.RoomAttentions].
func (s *directory) SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error {
	err := s.write(ctx, func(ctx context.Context, tx *conn) error {
		return record.Found(tx.QueryRowContext(ctx, `UPDATE rooms SET attention = ? WHERE id = ? RETURNING id`, a, room).Scan(&room))
	})
	return wrap(err, "setting the attention for the room %q", room)
}

// nextTurn returns the next turn number of a room that exists. Numbers rise within a room and are never given twice,
// because the counter is stored with the room and survives the deletion of its messages.
func nextTurn(ctx context.Context, tx *conn, room chat.RoomID) (turn chat.ResponseID, err error) {
	err = tx.QueryRowContext(ctx, `UPDATE rooms SET turns = turns + 1 WHERE id = ? RETURNING turns`, room).Scan(&turn)
	return turn, err
}

// withAddress returns the change of a cached room that only gets another address. The address has the form of [record.AddressOf].
func withAddress(address string) func(value) value {
	return func(before value) value {
		r := before.(cachedRoom)
		r.Address = chat.Address{}
		if json.Unmarshal([]byte(address), &r.Address) != nil {
			return nil
		}
		return r
	}
}

// nextTurnIn saves r and returns its next turn number. A room that is stored as it is, except for its address, takes one statement: that
// is nearly every message, and each has an address of its own.
func nextTurnIn(ctx context.Context, tx *conn, r chat.Room) (turn chat.ResponseID, err error) {
	address := record.AddressOf(r.Address)
	err = tx.changes.expecting(change{subject{cachedRooms, string(r.ID), ""}, withAddress(address)}, func() error {
		return tx.QueryRowContext(ctx, `
			UPDATE rooms SET turns = turns + 1, address = ifnull(nullif(?, ''), address)
			WHERE id = ? AND (world, kind, connector, name, chats, gone) IS (?, ?, ?, ?, ?, ?)
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
