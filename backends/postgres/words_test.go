package postgres

import (
	"fmt"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/search"
)

// A search for words that most messages have reads the messages of its rooms only, however many others there are. It must stay so when
// the statement was sent often: a plan that PostgreSQL keeps for all values reads those of all rooms.
func TestSearchReadsItsRooms(t *testing.T) {
	const rooms, each, searches = 400, 50, 10
	s := open(t, fresh(t), Options{})
	ctx := t.Context()
	tx := require.Value(s.pool.Begin(ctx))(t)
	defer tx.Rollback(ctx) //nolint:errcheck // the next test must not find these rows
	for _, statement := range []string{
		`SET LOCAL session_replication_role = replica`, // the messages themselves are not needed
		`INSERT INTO memory_words (seq, room, words, found)
			SELECT n, 'room ' || n % 400, 'the party number', array_to_tsvector(ARRAY['the', 'party', 'number', 'n' || n]) FROM generate_series(1, 20000) n`,
		`SELECT gin_clean_pending_list('memory_words_found')`,
		`ANALYZE memory_words`,
	} {
		require.Value(tx.Exec(ctx, statement))(t)
	}
	read := func() (n int) {
		t.Helper()
		err := tx.QueryRow(ctx, `
			SELECT (SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'memory_words'::regclass)
				+ pg_stat_get_xact_tuples_returned('memory_words_found'::regclass)`).Scan(&n)
		require.NoError(t, err)
		return n
	}
	before := read()
	for range searches {
		found, err := matches(ctx, tx, chat.Search{Room: "room 7", Before: "none"}, []chat.RoomID{"room 7", "room 8"}, []string{"party", "number"})
		if err != nil || len(found) != 2*each {
			t.Fatalf("found %d, %v", len(found), err)
		}
	}
	if n := read() - before; n > searches*10*each {
		t.Errorf("%d searches in two of %d rooms read %d rows; they have %d messages", searches, rooms, n, 2*each)
	}
}

// Messages that a replica of an older version has indexed, also after the upgrade, are indexed again, and found by other
// forms of their words.
func TestWordsOfOlderVersionsAreMadeAgain(t *testing.T) {
	s := open(t, fresh(t), Options{})
	ctx := t.Context()
	said := func(n int, text string) {
		in := chat.Message{
			Memory: chat.Memory{ID: chat.MemoryID(fmt.Sprint("older ", n)), Room: "older", Author: "ada", Text: text, At: time.Now()},
			Place:  chat.Room{ID: "older"},
		}
		require.Value(s.Accept(ctx, in, chat.JoinRule{Kind: chat.RunReply}))(t)
	}
	index := func(limit int) {
		t.Helper()
		for more := true; more; {
			var err error
			if more, err = s.IndexWords(ctx, limit, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range 5 {
		said(n, "The keys are in the drawer")
	}
	said(5, "Where is my key?")
	index(50)
	if _, err := s.pool.Exec(ctx, `UPDATE memory_words SET words = 'the keys are', found = array_to_tsvector(ARRAY['the', 'keys', 'are']), form = DEFAULT WHERE room = 'older'`); err != nil {
		t.Fatal(err)
	}
	find := chat.Search{Room: "older", Before: "older 5", Words: search.Question("Where is my key?"), Limit: 9}
	if found, err := s.FindWords(ctx, find); err != nil || len(found) != 0 {
		t.Fatalf("before, %d are found, %v; want none", len(found), err)
	}
	index(2)
	if found, err := s.FindWords(ctx, find); err != nil || len(found) != 5 {
		t.Errorf("%d are found, %v; want 5", len(found), err)
	}
}
