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

// directRooms is how many other rooms of a person are searched: the newest.
const directRooms = 20

// IndexWords implements [storage.WordIndex]. While nothing is new it writes nothing.
func (s *memories) IndexWords(ctx context.Context, limit int, embed time.Time) (more bool, err error) {
	err = s.read(ctx, func(db reader) error {
		return db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM memories WHERE seq > (SELECT seq FROM memory_words_until))`).Scan(&more)
	})
	if err == nil && more {
		err = s.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
			more, err = indexWords(ctx, tx, limit, embed)
			return err
		})
	}
	return more, wrap(err, "indexing words")
}

func indexWords(ctx context.Context, tx *sql.Conn, limit int, embed time.Time) (more bool, err error) {
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

func insertWords(ctx context.Context, tx *sql.Conn, seq int64, m chat.Memory) error {
	words := record.WordsOf(m)
	if words == "" || m.Kind != chat.Said {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO memory_words (rowid, room, words) VALUES (?, ?, ?)`, seq, record.RoomWord(m.Room), words)
	return err
}

// replaceWords indexes a revised message anew, if it was indexed.
func replaceWords(ctx context.Context, tx *sql.Conn, m chat.Memory) error {
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
	err = s.read(ctx, func(db reader) error {
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

// searchable returns the rooms in which there is something to search. Most questions have all messages of their room in the prompt.
func searchable(ctx context.Context, db reader, q chat.Search) ([]chat.RoomID, error) {
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

// matches returns the newest messages that have a word of the question. The words are letters and digits only, so they can stand in
// quotes.
func matches(ctx context.Context, db reader, q chat.Search, rooms []chat.RoomID, asked []string) ([]search.Text, error) {
	var in []string
	for _, r := range rooms {
		in = append(in, record.RoomWord(r))
	}
	rows, err := db.conn.QueryContext(ctx, ` -- a search can take long, so that it can be interrupted
		SELECT w.rowid, w.words FROM memory_words w CROSS JOIN memories m ON m.seq = w.rowid
		WHERE memory_words MATCH ?1 AND iif(m.room = ?2, m.turn < (SELECT turn FROM memories WHERE id = ?3 AND room = ?2),
			m.room IN (SELECT value FROM json_each(?4)))
		ORDER BY w.rowid DESC LIMIT ?5 + 0`,
		`room : (`+anyOf(in)+`) AND words : (`+anyOf(asked)+`)`, q.Room, q.Before, record.JSON(rooms), record.Candidates)
	if err != nil {
		return nil, err
	}
	return collect(rows, record.ScanText)
}

func anyOf(words []string) string { return `"` + strings.Join(words, `" OR "`) + `"` }

// turnsOf returns the messages of the turns of others, oldest first.
func turnsOf(ctx context.Context, db reader, seqs []int64) ([]record.Numbered, error) {
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
