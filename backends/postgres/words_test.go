package postgres

import (
	"testing"

	"parley/core/chat"
)

// A search for words that most messages have reads the messages of its rooms only, however many others there are. It must stay so when
// the statement was sent often: a plan that PostgreSQL keeps for all values reads those of all rooms.
func TestSearchReadsItsRooms(t *testing.T) {
	const rooms, each, searches = 400, 50, 10
	s := open(t, fresh(t), Options{})
	ctx := t.Context()
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // the next test must not find these rows
	for _, statement := range []string{
		`SET LOCAL session_replication_role = replica`, // the messages themselves are not needed
		`INSERT INTO memory_words (seq, room, words, found)
			SELECT n, 'room ' || n % 400, 'the party number', array_to_tsvector(ARRAY['the', 'party', 'number', 'n' || n]) FROM generate_series(1, 20000) n`,
		`SELECT gin_clean_pending_list('memory_words_found')`,
		`ANALYZE memory_words`,
	} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (n int) {
		t.Helper()
		err := tx.QueryRow(ctx, `
			SELECT (SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'memory_words'::regclass)
				+ pg_stat_get_xact_tuples_returned('memory_words_found'::regclass)`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
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
