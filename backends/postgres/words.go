package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/backends/record"
	"parley/core/chat"
	"parley/internal/search"
)

// directRooms is the number of other direct rooms of a person that a search includes: the newest ones.
const directRooms = 20

// IndexWords implements [storage.WordIndex]. Replicas take turns: the row of memory_words_until is locked.
func (s *memories) IndexWords(ctx context.Context, limit int, embed time.Time) (more bool, err error) {
	err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
		more, err = indexWords(ctx, q, limit, embed)
		return err
	})
	return more, wrap(err, "indexing words")
}

// indexWords indexes the next messages that are not indexed yet.
//
// Numbers (seq) are given when a row is inserted, but become visible when its transaction commits, so a message can
// appear behind others that were indexed long before. memory_words_until.seq is therefore raised only to a number below
// which all messages are visible. That is found out in two steps. A call notes the highest number it has seen as next,
// and as fence the next transaction id that the server will give. A later call finds it settled when all transactions
// before the fence have ended: each transaction gets its id when it begins, by writing its row in commits, hence before
// it draws a number. Until then, messages in between are found by their missing row in memory_words, so
// that no message waits for the fence.
func indexWords(ctx context.Context, q querier, limit int, embed time.Time) (more bool, err error) {
	var was, next int64
	var settled bool
	err = q.QueryRow(ctx, `SELECT seq, next, fence <= pg_snapshot_xmin(pg_current_snapshot()) FROM memory_words_until FOR UPDATE`).Scan(&was, &next, &settled)
	if err != nil {
		return false, err
	}
	until := was
	if settled {
		until = next
	}
	// The messages are not deleted or revised until their words are stored.
	all, err := list(ctx, q, record.ScanNumbered, `
		SELECT seq, turn, `+record.MemoryColumns+` FROM memories m
		WHERE seq > $1 AND kind = '' AND NOT EXISTS (SELECT 1 FROM memory_words w WHERE w.seq = m.seq)
		ORDER BY seq LIMIT $2 FOR SHARE OF m`, until, limit)
	if err != nil {
		return false, err
	}
	for _, m := range all {
		if err := saveWords(ctx, q, m.Seq, m.Memory); err != nil {
			return false, err
		}
		if !embed.IsZero() && !m.At.Before(embed) {
			if err := awaitVector(ctx, q, m); err != nil {
				return false, err
			}
		}
		if settled {
			next = max(next, m.Seq)
		}
	}
	if settled && (len(all) > 0 || until != was) { // all that could add a number up to next have begun by now, so their ids are before the new fence
		_, err = q.Exec(ctx, `UPDATE memory_words_until SET seq = $1, next = $2, fence = pg_snapshot_xmax(pg_current_snapshot())`, until, next)
	}
	if err != nil || len(all) == limit {
		return true, err
	}
	return renewWords(ctx, q, limit-len(all))
}

// renewWords indexes messages again whose words an older version of the program made, the newest first.
func renewWords(ctx context.Context, q querier, limit int) (more bool, err error) {
	all, err := list(ctx, q, record.ScanNumbered, `
		SELECT seq, turn, `+record.MemoryColumns+` FROM memories m
		WHERE seq IN (SELECT seq FROM memory_words WHERE form < 2 ORDER BY seq DESC LIMIT $1) FOR SHARE OF m`, limit)
	for _, m := range all {
		if err == nil {
			err = updateWords(ctx, q, m.Seq, m.Memory)
		}
	}
	return len(all) == limit, err
}

// saveWords indexes a message, also one without words, so that it counts as indexed. array_to_tsvector takes the words
// as they are, without the stemming and stop words of a text search configuration: all stores find the same.
func saveWords(ctx context.Context, q querier, seq int64, m chat.Memory) error {
	words := record.WordsOf(m)
	_, err := q.Exec(ctx, `
		INSERT INTO memory_words (seq, room, words, found, form) VALUES ($1, $2, $3, array_to_tsvector($4::text[]), 2)
		ON CONFLICT (seq) DO NOTHING`, seq, m.Room, words, distinct(words))
	return err
}

// distinct returns each word once. The result is never nil, because the driver would pass nil as NULL.
func distinct(words string) []string {
	seen, all := map[string]bool{}, []string{}
	for _, w := range strings.Fields(words) {
		if !seen[w] {
			seen[w] = true
			all = append(all, w)
		}
	}
	return all
}

// replaceWords indexes a revised message again, if it was indexed, and invalidates its vector: with the new version, a
// vector of the old text that is under way is discarded when it arrives.
func replaceWords(ctx context.Context, q querier, m chat.Memory) error {
	var seq int64
	if err := q.QueryRow(ctx, `SELECT seq FROM memories WHERE id = $1`, m.ID).Scan(&seq); err != nil || m.Kind != chat.Said {
		return err
	}
	_, err := q.Exec(ctx, `UPDATE memory_vectors SET model = 0, version = `+newVersion+`, claimed = 0, vector = '' WHERE seq = $1`, seq)
	if err != nil {
		return err
	}
	return updateWords(ctx, q, seq, m)
}

// updateWords replaces the words of an indexed message.
func updateWords(ctx context.Context, q querier, seq int64, m chat.Memory) error {
	words := record.WordsOf(m)
	_, err := q.Exec(ctx, `UPDATE memory_words SET words = $2, found = array_to_tsvector($3::text[]), form = 2 WHERE seq = $1`, seq, words, distinct(words))
	return err
}

// FindWords implements [storage.WordIndex].
func (s *memories) FindWords(ctx context.Context, find chat.Search) (found []chat.Passage, err error) {
	asked := record.Asked(find)
	if len(asked) == 0 {
		return nil, nil
	}
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rooms, err := searchable(ctx, q, find)
		if err != nil || len(rooms) == 0 {
			return err
		}
		texts, err := matches(ctx, q, find, rooms, asked)
		if err != nil {
			return err
		}
		best := record.Best(texts, asked, search.Spread{}, find.Limit)
		all, err := turnsOf(ctx, q, best)
		found = record.Passages(best, all, find.Limit)
		return err
	})
	return found, wrap(err, "searching %q", find.Room)
}

// searchable returns the rooms with messages to search: the room of find if it has turns before
// find.Before, and the newest other direct rooms of the person. They are found first, because a condition on the rooms
// within the search itself would make PostgreSQL read the messages of all rooms. Usually the prompt has all messages of
// the room, so none are left to search. The rooms of the person are found by going from room to room in the index of authors, because
// the person's messages can be many; and not at all if the person writes nowhere else.
func searchable(ctx context.Context, q querier, find chat.Search) ([]chat.RoomID, error) {
	return list(ctx, q, func(r record.Row) (id chat.RoomID, err error) { return id, r.Scan(&id) }, `
		WITH RECURSIVE wrote (room) AS (
			SELECT min(room) FROM memories WHERE author = $3
			UNION ALL
			SELECT (SELECT min(m.room) FROM memories m WHERE m.author = $3 AND m.room > wrote.room) FROM wrote WHERE wrote.room IS NOT NULL
		)
		SELECT $1 WHERE EXISTS (SELECT 1 FROM memories WHERE room = $1 AND turn < (SELECT turn FROM memories WHERE id = $2 AND room = $1))
		UNION ALL
		(SELECT id FROM rooms WHERE $3 <> '' AND (EXISTS (SELECT 1 FROM memories WHERE author = $3 AND room < $1) OR EXISTS (SELECT 1 FROM memories WHERE author = $3 AND room > $1))
			AND id IN (SELECT room FROM wrote) AND kind = $4 AND NOT gone AND id <> $1
			AND EXISTS (SELECT 1 FROM memories WHERE author = $3 AND room = rooms.id AND role IN ('input', 'heard'))
		ORDER BY created DESC LIMIT $5)`, find.Room, find.Before, find.Person, chat.Direct, directRooms)
}

// matches returns the newest messages that have a word of the question, at most record.Candidates, for ranking by the
// program. The ranking of PostgreSQL would differ from that of other stores. Words are letters and digits only, so
// quotes can't be escaped from. The statement is not prepared: PostgreSQL has to see the rooms and the words when it plans,
// or it goes through the messages of all rooms that have a common word.
func matches(ctx context.Context, q querier, find chat.Search, rooms []chat.RoomID, asked []string) ([]search.Text, error) {
	return list(ctx, q, record.ScanText, `
		SELECT seq, words FROM memory_words
		WHERE room = ANY($1) AND found @@ $2::tsquery AND seq NOT IN (
			SELECT seq FROM memories WHERE room = $3 AND kind = '' AND turn >= (SELECT turn FROM memories WHERE id = $4 AND room = $3))
		ORDER BY seq DESC LIMIT $5`,
		pgx.QueryExecModeCacheDescribe, rooms, `'`+strings.Join(asked, `' | '`)+`'`, find.Room, find.Before, record.Candidates)
}

// turnsOf returns the messages of the turns that the given ones belong to, oldest first: a passage is a turn, with
// question and answer.
func turnsOf(ctx context.Context, q querier, seqs []int64) ([]record.Numbered, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	return list(ctx, q, record.ScanNumbered, `
		SELECT seq, turn, `+record.MemoryColumns+` FROM memories
		WHERE kind = '' AND (room, turn) IN (SELECT room, turn FROM memories WHERE seq = ANY($1)) ORDER BY turn, seq`, seqs)
}
