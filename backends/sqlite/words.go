package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"parley/backends/record"
	"parley/core/chat"
	"parley/core/search"
)

// directRooms is the number of other direct rooms of a person that a search includes: the newest ones.
const directRooms = 20

// IndexWords implements [storage.WordIndex]. It looks with a read connection first: while nothing is new, which is most
// of the time, it writes nothing.
func (s *memories) IndexWords(ctx context.Context, limit int, embed time.Time) (more bool, err error) {
	err = s.read(ctx, func(db *conn) error {
		return db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM memories WHERE seq > (SELECT seq FROM memory_words_until))`).Scan(&more)
	})
	if err == nil && more {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error {
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
	rows, err := tx.QueryContext(ctx, `
		SELECT seq, turn, `+record.MemoryColumns+` FROM memories
		WHERE seq > (SELECT seq FROM memory_words_until) ORDER BY seq LIMIT ? + 0`, limit)
	if err != nil {
		return false, err
	}
	all, err := collect(rows, record.ScanNumbered)
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
		texts, err := matches(ctx, db, q, rooms, asked)
		if err != nil {
			return err
		}
		best := record.Best(texts, asked, q.Limit)
		all, err := turnsOf(ctx, db, best)
		found = record.Passages(best, all, q.Limit)
		return err
	})
	return found, wrap(err, "searching %q", q.Room)
}

// searchable returns the rooms in which there is something to search: the room of q if it has turns before q.Before,
// and other direct rooms of the person. It is a cheap first look: usually the prompt has all messages of the room, so
// none are left to search.
func searchable(ctx context.Context, db *conn, q chat.Search) ([]chat.RoomID, error) {
	rows, err := db.QueryContext(ctx, `
		SELECT ?1 WHERE EXISTS (SELECT 1 FROM memories WHERE room = ?1 AND turn < (SELECT turn FROM memories WHERE id = ?2 AND room = ?1))
		UNION ALL
		SELECT id FROM (
			SELECT id FROM rooms WHERE ?3 <> '' AND kind = ?4 AND NOT gone AND id <> ?1
				AND id IN (SELECT room FROM memories WHERE author = ?3 AND role IN ('input', 'heard'))
			ORDER BY created DESC LIMIT ?5 + 0)`, q.Room, q.Before, q.Person, chat.Direct, directRooms)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(r record.Row) (id chat.RoomID, err error) { return id, r.Scan(&id) })
}

// matches returns the newest messages that have a word of the question, at most record.Candidates, for ranking by the
// program. FTS5's own ranking would differ from that of other stores. The index has the room as a word, so that a
// search reads only the entries of its rooms; the join then excludes turns that are not before q.Before, and checks the
// room itself, of which the word is only a hash. CROSS JOIN makes SQLite begin with the index. Words are letters and
// digits only, so quotes can't be escaped from.
func matches(ctx context.Context, db *conn, q chat.Search, rooms []chat.RoomID, asked []string) (all []search.Text, err error) {
	var in []string
	for _, r := range rooms {
		in = append(in, record.RoomWord(r))
	}
	err = db.interruptible(ctx, func() error { // it can take long
		rows, err := db.QueryContext(ctx, `
		SELECT w.rowid, w.words FROM memory_words w CROSS JOIN memories m ON m.seq = w.rowid
		WHERE memory_words MATCH ?1 AND iif(m.room = ?2, m.turn < (SELECT turn FROM memories WHERE id = ?3 AND room = ?2),
			m.room IN (SELECT value FROM json_each(?4)))
		ORDER BY w.rowid DESC LIMIT ?5 + 0`,
			`room : (`+anyOf(in)+`) AND words : (`+anyOf(asked)+`)`, q.Room, q.Before, record.JSON(rooms), record.Candidates)
		if err == nil {
			all, err = collect(rows, record.ScanText)
		}
		return err
	})
	return all, err
}

// anyOf returns an FTS5 expression that matches any of words.
func anyOf(words []string) string { return `"` + strings.Join(words, `" OR "`) + `"` }

// turnsOf returns the messages of the turns to which the given ones belong, oldest first: a passage is a turn, with
// question and answer.
func turnsOf(ctx context.Context, db *conn, seqs []int64) ([]record.Numbered, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	rows, err := db.QueryContext(ctx, `
		SELECT seq, turn, `+record.MemoryColumns+` FROM memories
		WHERE kind = '' AND (room, turn) IN (SELECT room, turn FROM memories WHERE seq IN (SELECT value FROM json_each(?)))
		ORDER BY turn, seq`, record.JSON(seqs))
	if err != nil {
		return nil, err
	}
	return collect(rows, record.ScanNumbered)
}
