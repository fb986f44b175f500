package sqlite

import (
	"context"
	"errors"
	"math"
	"slices"

	"parley/backends/record"
	"parley/backends/sqlstore"
	"parley/core/chat"
)

// The methods below replace those of [sqlstore.Store] by reads that are cached.

// selectRecent walks the index memories_by_turn backwards and stops at the limit. The limit is a sum, because SQLite's
// planner looks at the value of a bare parameter there, and then prepares the statement again for each call, which
// takes longer than running it.
const selectRecent = `
	SELECT ` + record.MemoryColumnsOfRoom + `, turn FROM memories
	WHERE room = ? AND kind = ? AND turn <= ?
	ORDER BY turn DESC, seq DESC LIMIT ? + 0`

// Recent implements [storage.Memories]. Its cost depends on the limit only, not on the number of stored messages. The cache holds the
// newest messages, which is what nearly all calls want: a read for it has no upper bound, and another one is made only if later turns have
// left too few.
func (s *memories) Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error) {
	if upTo == 0 || upTo > math.MaxInt64 {
		upTo = math.MaxInt64
	}
	limit = max(limit, 0)
	if limit <= mostKept {
		enough := func(h history) bool {
			_, ok := h.last(upTo, limit)
			return ok
		}
		newest, err := cached(ctx, s.database, subject{cachedMemories, string(room), string(kind)}, enough, func(ctx context.Context, db *conn) (history, error) {
			return readHistory(ctx, db, room, kind, math.MaxInt64, limit)
		})
		if err != nil {
			return nil, wrap(err, "reading the messages in %q", room)
		}
		if all, ok := newest.last(upTo, limit); ok {
			return all, nil
		}
	}
	var h history
	err := s.read(ctx, func(db *conn) (err error) {
		h, err = readHistory(ctx, db, room, kind, upTo, limit)
		return err
	})
	return h.all, wrap(err, "reading the messages in %q", room)
}

// readHistory reads the last memories whose turn is at most upTo.
func readHistory(ctx context.Context, db *conn, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) (history, error) {
	var turn chat.ResponseID
	var turns []chat.ResponseID
	scan := record.MemoryScanner(&turn)
	all, err := list(ctx, db, func(r record.Row) (chat.Memory, error) {
		m, err := scan(r)
		m.Room, m.Kind = room, kind // the same for all, so they are not read, see record.MemoryColumnsOfRoom
		turns = append(turns, turn)
		return m, err
	}, selectRecent, room, kind, upTo, limit)
	if err != nil {
		return history{}, err
	}
	slices.Reverse(all)
	slices.Reverse(turns)
	return newHistory(all, turns, len(all) < limit), nil
}

// Notes implements [storage.RoomNotes].
func (s *memories) Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error) {
	all, err := s.notes(ctx, subject{cachedNotes, string(room), string(kind)}, limit, func(ctx context.Context, c sqlstore.Conn) ([]chat.RoomNote, error) {
		return s.sql.ReadNotes(ctx, c, room, kind, limit)
	})
	return all, wrap(err, "reading the notes on %q", room)
}

// NotesAbout implements [storage.RoomNotes]. Shared notes also depend on the kind of their rooms, so they are not cached.
func (s *memories) NotesAbout(ctx context.Context, person chat.EntityID, kind chat.NoteKind, shared bool, limit int) ([]chat.RoomNote, error) {
	if shared {
		return s.common.NotesAbout(ctx, person, kind, shared, limit)
	}
	all, err := s.notes(ctx, subject{cachedAbout, string(person), string(kind)}, limit, func(ctx context.Context, c sqlstore.Conn) ([]chat.RoomNote, error) {
		return s.sql.ReadNotesAbout(ctx, c, person, kind, shared, limit)
	})
	return all, wrap(err, "reading the notes about %q", person)
}

// notes returns the newest notes of a subject, at most limit, from the cache or from read.
func (s *memories) notes(ctx context.Context, of subject, limit int, read func(context.Context, sqlstore.Conn) ([]chat.RoomNote, error)) ([]chat.RoomNote, error) {
	enough := func(l noteList) bool { return l.limit == limit && l.current() }
	list, err := cached(ctx, s.database, of, enough, func(ctx context.Context, db *conn) (noteList, error) {
		all, err := read(ctx, (*sharedConn)(db))
		return noteList{limit, all}, err
	})
	return list.all, err
}

// OpenQuestions implements [storage.Questions].
func (s *questions) OpenQuestions(ctx context.Context, room chat.RoomID) ([]chat.Question, error) {
	all, err := cached(ctx, s.database, subject{cachedQuestions, string(room), ""}, nil, func(ctx context.Context, db *conn) (openQuestions, error) {
		return s.sql.ReadOpenQuestions(ctx, (*sharedConn)(db), room)
	})
	return all.open(), wrap(err, "reading the open questions in %q", room)
}

// Room implements [storage.Rooms].
func (s *directory) Room(ctx context.Context, id chat.RoomID) (chat.Room, error) {
	r, err := cached(ctx, s.database, subject{cachedRooms, string(id), ""}, nil, func(ctx context.Context, db *conn) (cachedRoom, error) {
		r, err := record.ScanRoom(db.QueryRowContext(ctx, sqlstore.SelectRoom, id))
		return cachedRoom{r}, err
	})
	return r.Room, wrap(err, "reading the room %q", id)
}

// Attention implements [storage.RoomAttentions].
func (s *directory) Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error) {
	a, err := cached(ctx, s.database, subject{cachedAttention, string(room), ""}, nil, func(ctx context.Context, db *conn) (a attention, err error) {
		err = record.Found(db.QueryRowContext(ctx, sqlstore.SelectAttention, room).Scan(&a))
		return a, err
	})
	if errors.Is(err, chat.ErrNotFound) {
		return chat.Normal, nil
	}
	return chat.Attention(a), wrap(err, "reading the attention for the room %q", room)
}

// Entity implements [storage.Directory].
func (s *directory) Entity(ctx context.Context, id chat.EntityID) (chat.Entity, error) {
	e, err := s.entity(ctx, id)
	return e, wrap(err, "reading the entity %q", id)
}

func (s *directory) entity(ctx context.Context, id chat.EntityID) (chat.Entity, error) {
	e, err := cached(ctx, s.database, subject{cachedEntities, string(id), ""}, nil, func(ctx context.Context, db *conn) (cachedEntity, error) {
		e, err := record.ScanEntity(db.QueryRowContext(ctx, sqlstore.SelectEntity, id))
		return cachedEntity{e}, err
	})
	return e.Entity, err
}

// SaveEntity implements [storage.Directory]. Nearly always the entity is known as it is.
func (s *directory) SaveEntity(ctx context.Context, e chat.Entity) (chat.News, error) {
	if old, err := s.entity(ctx, e.ID); err == nil {
		if _, changed := sqlstore.MergeEntity(old, e); !changed {
			return chat.Nothing, nil
		}
	}
	return s.common.SaveEntity(ctx, e)
}
