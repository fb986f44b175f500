package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"parley/backends/record"
	"parley/core/chat"
	"parley/internal/search"
)

const (
	directRooms = 20   // other direct rooms of a person that a search includes: the newest ones
	newestWith  = 2000 // messages with a word that a search in large rooms looks at
)

// IndexWords implements [storage.WordIndex]. It looks with a read connection first: while nothing is new, which is most
// of the time, it writes nothing.
func (s *memories) IndexWords(ctx context.Context, limit int, embed time.Time) (more bool, err error) {
	err = s.read(ctx, func(db *conn) error {
		return db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM memories WHERE seq > (SELECT seq FROM memory_words_until))`).Scan(&more)
	})
	if err == nil && more {
		err = s.writeSlowly(ctx, func(ctx context.Context, tx *conn) error {
			more, err = indexWords(ctx, tx, limit, embed)
			return err
		})
	}
	return more, wrap(err, "indexing words")
}

// indexWords indexes the next messages after memory_words_until and moves that on, in one transaction. All messages are
// numbered in the order of their commits here, as there is one writer, so a single number separates the indexed from
// the others.
func indexWords(ctx context.Context, tx *conn, limit int, embed time.Time) (more bool, err error) {
	all, err := list(ctx, tx, record.ScanNumbered, `
		SELECT seq, turn, `+record.MemoryColumns+` FROM memories
		WHERE seq > (SELECT seq FROM memory_words_until) ORDER BY seq LIMIT ? + 0`, limit)
	if err != nil || len(all) == 0 {
		return false, err
	}
	for _, m := range all {
		if err := insertWords(ctx, tx, m.Seq, m.Memory); err != nil {
			return false, err
		}
		if !embed.IsZero() && !m.At.Before(embed) {
			if err := awaitVector(ctx, tx, m); err != nil {
				return false, err
			}
		}
	}
	_, err = tx.ExecContext(ctx, `UPDATE memory_words_until SET seq = ?`, all[len(all)-1].Seq)
	return len(all) == limit, err
}

// insertWords adds a message to the index. The words are made by the program (record.WordsOf), not by SQLite's
// tokenizer, so that all stores find the same messages.
func insertWords(ctx context.Context, tx *conn, seq int64, m chat.Memory) error {
	words := record.WordsOf(m)
	if words == "" || m.Kind != chat.Said {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO memory_words (rowid, room, words) VALUES (?, ?, ?)`, seq, record.RoomWord(m.Room), words)
	return err
}

// replaceWords indexes a revised message again, if it was indexed, and invalidates its vector: the new version makes a
// vector of the old text, which may be under way, be discarded when it arrives.
func replaceWords(ctx context.Context, tx *conn, m chat.Memory) error {
	var seq int64
	err := tx.QueryRowContext(ctx, `SELECT seq FROM memories WHERE id = ? AND seq <= (SELECT seq FROM memory_words_until)`, m.ID).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM memory_words WHERE rowid = ?`, seq)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE memory_vectors SET model = 0, version = random(), vector = x'' WHERE seq = ?`, seq)
	}
	if err != nil {
		return err
	}
	return insertWords(ctx, tx, seq, m)
}

// FindWords implements [storage.WordIndex].
func (s *memories) FindWords(ctx context.Context, q chat.Search) (found []chat.Passage, err error) {
	asked := record.Asked(q)
	if len(asked) == 0 {
		return nil, nil
	}
	err = s.read(ctx, func(db *conn) error {
		rooms, err := searchable(ctx, db, q)
		if err != nil || len(rooms) == 0 {
			return err
		}
		best, err := matches(ctx, db, q, rooms, asked)
		if err != nil {
			return err
		}
		all, err := turnsOf(ctx, db, rooms, best)
		found = record.Passages(best, all, q.Limit)
		return err
	})
	return found, wrap(err, "searching %q", q.Room)
}

// selectSearchable selects whether anything is earlier in a room than a message, and whether a person writes elsewhere, too. The second
// has two parts because SQLite reads only the needed entries for < or >, but all of the person's messages for <>.
const selectSearchable = `
	SELECT EXISTS (SELECT 1 FROM memories WHERE room = ?1 AND turn < (SELECT turn FROM memories WHERE id = ?2 AND room = ?1)),
		?3 <> '' AND (EXISTS (SELECT 1 FROM memories WHERE author = ?3 AND room < ?1) OR EXISTS (SELECT 1 FROM memories WHERE author = ?3 AND room > ?1))`

// searchable returns the rooms with messages to search: the room of q if it has turns before q.Before,
// and other direct rooms of the person. Its first look reads two or three entries of an index: usually the prompt has all messages of the
// room, and the person writes nowhere else, so nothing is left to search.
func searchable(ctx context.Context, db *conn, q chat.Search) (rooms []chat.RoomID, err error) {
	var earlier, elsewhere bool
	err = db.QueryRowContext(ctx, selectSearchable, q.Room, q.Before, q.Person).Scan(&earlier, &elsewhere)
	if err != nil {
		return nil, err
	}
	if elsewhere {
		rooms, err = directRoomsOf(ctx, db, q.Person, q.Room)
	}
	if earlier {
		rooms = append(rooms, q.Room)
	}
	return rooms, err
}

// selectDirectRooms goes from room to room in the index of authors, and so reads none of the many messages of a person.
const selectDirectRooms = `
	WITH RECURSIVE wrote (room) AS (
		SELECT min(room) FROM memories WHERE author = ?1
		UNION ALL
		SELECT (SELECT min(room) FROM memories WHERE author = ?1 AND room > wrote.room) FROM wrote WHERE wrote.room IS NOT NULL
	)
	SELECT id FROM rooms WHERE id IN (SELECT room FROM wrote) AND id <> ?2 AND kind = ?3 AND NOT gone
		AND EXISTS (SELECT 1 FROM memories WHERE author = ?1 AND room = rooms.id AND role IN ('input', 'heard'))
	ORDER BY created DESC LIMIT ?4 + 0`

// directRoomsOf returns the newest direct rooms of a person's messages, except for one.
func directRoomsOf(ctx context.Context, db *conn, person chat.EntityID, except chat.RoomID) ([]chat.RoomID, error) {
	return list(ctx, db, func(r record.Row) (id chat.RoomID, err error) { return id, r.Scan(&id) }, selectDirectRooms, person, except, chat.Direct, directRooms)
}

// matches returns the messages that match the words asked best. They are ranked by the program: FTS5's own ranking would
// differ from that of other stores. Reading their words takes long, so at most record.Compared are read. With
// few messages in the rooms these are all, otherwise those that have the rarest words, which the index tells.
func matches(ctx context.Context, db *conn, q chat.Search, rooms []chat.RoomID, asked []string) (best []int64, err error) {
	err = db.interruptible(ctx, func() error { // it can take long
		var spread search.Spread
		seqs, err := messagesOf(ctx, db, q, rooms, record.Candidates+1)
		if n := len(seqs); err == nil && n > record.Compared {
			seqs, spread, err = promising(ctx, db, q, rooms, asked, n > record.Candidates)
		}
		if err != nil {
			return err
		}
		texts, err := list(ctx, db, record.ScanText, `SELECT rowid, words FROM memory_words WHERE rowid IN (SELECT value FROM json_each(?))`, record.JSON(seqs))
		best = record.Best(texts, asked, spread, q.Limit)
		return err
	})
	return best, err
}

// messagesOf returns the numbers of the messages that a search looks at, at most limit: in the room of q those before
// q.Before.
func messagesOf(ctx context.Context, db *conn, q chat.Search, rooms []chat.RoomID, limit int) ([]int64, error) {
	return list(ctx, db, scanSeq, `
		SELECT seq FROM memories WHERE kind = '' AND room IN (SELECT value FROM json_each(?4))
			AND (room <> ?1 OR turn < (SELECT turn FROM memories WHERE id = ?2 AND room = ?1)) LIMIT ?3 + 0`,
		q.Room, q.Before, limit, record.JSON(rooms))
}

func scanSeq(r record.Row) (seq int64, err error) { return seq, r.Scan(&seq) }

// promising returns the messages that can match best, and how common the words are. With large, only the newest
// newestWith with each word are looked at, so that common words don't take long; SQLite needs half as long again for each
// entry in this order. The index has the room as a word, so that a search reads only the entries of its rooms. It is a
// hash, so turnsOf checks the room itself. Words are letters and digits only, so quotes can't be escaped from.
func promising(ctx context.Context, db *conn, q chat.Search, rooms []chat.RoomID, asked []string, large bool) (seqs []int64, spread search.Spread, err error) {
	find, args := `SELECT rowid FROM memory_words WHERE memory_words MATCH ?`, []any{""}
	if large {
		find, args = find+` ORDER BY rowid DESC LIMIT ? + 0`, append(args, newestWith)
	}
	recent, err := since(ctx, db, q)
	if err != nil {
		return nil, spread, err
	}
	var in []string
	for _, r := range rooms {
		in = append(in, `"`+record.RoomWord(r)+`"`)
	}
	var postings [][]int64
	for _, word := range asked {
		args[0] = `room : (` + strings.Join(in, " OR ") + `) AND words : "` + word + `"`
		with, err := list(ctx, db, scanSeq, find, args...)
		if err != nil {
			return nil, spread, err
		}
		postings = append(postings, slices.DeleteFunc(with, func(seq int64) bool { return recent[seq] }))
	}
	seqs, spread = search.Promising(postings, record.Compared)
	return seqs, spread, nil
}

// since returns the numbers of the messages of q's room that a search leaves out: q.Before and later ones, which are
// few.
func since(ctx context.Context, db *conn, q chat.Search) (map[int64]bool, error) {
	seqs, err := list(ctx, db, scanSeq, `
		SELECT seq FROM memories WHERE kind = '' AND room = ?1 AND turn >= (SELECT turn FROM memories WHERE id = ?2 AND room = ?1)`, q.Room, q.Before)
	recent := map[int64]bool{}
	for _, seq := range seqs {
		recent[seq] = true
	}
	return recent, err
}

// turnsOf returns the messages of the turns that the given ones of rooms belong to, oldest first: a passage is a turn,
// with question and answer.
func turnsOf(ctx context.Context, db *conn, rooms []chat.RoomID, seqs []int64) ([]record.Numbered, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	return list(ctx, db, record.ScanNumbered, `
		SELECT seq, turn, `+record.MemoryColumns+` FROM memories
		WHERE kind = '' AND (room, turn) IN (
			SELECT room, turn FROM memories WHERE seq IN (SELECT value FROM json_each(?)) AND room IN (SELECT value FROM json_each(?)))
		ORDER BY turn, seq`, record.JSON(seqs), record.JSON(rooms))
}
