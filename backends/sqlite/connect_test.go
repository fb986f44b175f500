package sqlite

import (
	"strings"
	"testing"
)

// A statement that would damage the file is refused on each connection, also on one that could write.
func TestConnectionsAreDefensive(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	reader, give := s.readers.take()
	defer give()
	mustExec(t, reader, `PRAGMA query_only = OFF`)
	for name, db := range map[string]*conn{"writer": s.writer, "reader": reader} {
		mustExec(t, db, `PRAGMA writable_schema = ON`) // is ignored
		for query, want := range map[string]string{
			`UPDATE sqlite_schema SET sql = '' WHERE name = 'memories'`:              "may not be modified",
			`DELETE FROM sqlite_schema`:                                              "may not be modified",
			`INSERT INTO memory_words_data (id, block) VALUES (1, x'00')`:            "may not be modified",
			`UPDATE memory_words_config SET v = 0`:                                   "may not be modified",
			`DROP TABLE memory_words_idx`:                                            "may not be dropped",
			`ATTACH DATABASE ':memory:' AS other`:                                    "too many attached databases",
			`CREATE TRIGGER t AFTER DELETE ON memory_words_data BEGIN SELECT 1; END`: "cannot create triggers on shadow tables",
		} {
			if _, err := db.Exec(query); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", name, query, err)
			}
		}
		var mode string
		if err := db.QueryRow(`PRAGMA journal_mode = OFF`).Scan(&mode); err != nil || mode != "wal" {
			t.Errorf(`%s: the journal's mode is %q, %v; want "wal"`, name, mode, err)
		}
	}
	mustExec(t, s.writer, `INSERT INTO memory_words (rowid, room, words) VALUES (1, 'r', 'w')`) // what the index itself writes is allowed
}
