package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/backends/record"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/version"
)

func TestOpenSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	notADatabase := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(notADatabase, []byte(strings.Repeat("these are notes\n", 100)), 0o600))
	for path, want := range map[string]string{
		filepath.Join(dir, "no", "parley.db"): "the directory " + filepath.Join(dir, "no") + " does not exist",
		dir:                                   "is a directory",
		notADatabase:                          "file is not a database",
		filepath.Join(notADatabase, "a.db"):   "not a directory",
	} {
		s, err := Open(t.Context(), path, Options{})
		if err == nil {
			s.Close()
			t.Errorf("%s was opened", path)
			continue
		}
		if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "sqlite: ") {
			t.Errorf("the error of %s is %q; want: %s", path, err, want)
		}
	}
}

// DI-13: tables that this program does not know are left alone.
func TestOpenRefusesNewerTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	for _, statement := range []string{`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)`, `UPDATE identity SET release = '9.8.7'`} {
		require.Value(s.writer.Exec(statement))(t)
	}
	require.NoError(t, s.Close())
	for range 2 { // the second one would find it in use, if the first had kept it
		_, err := Open(t.Context(), path, Options{})
		if err == nil || !strings.Contains(err.Error(), "version 99999") || !strings.Contains(err.Error(), "newer version of the gateway") ||
			!strings.Contains(err.Error(), "at least 9.8.7 is needed") {
			t.Errorf("the error is %v", err)
		}
	}
}

// Each migration records the oldest release that can use its tables, so that earlier programs can name it.
func TestMigrationsRecordTheirRelease(t *testing.T) {
	all := require.Value(fs.Glob(migrations, "migrations/*.sql"))(t)
	for _, name := range all[slices.Index(all, "migrations/00045_release.sql"):] {
		text := require.Value(fs.ReadFile(migrations, name))(t)
		if !strings.Contains(string(text), "\nUPDATE identity SET release = '") {
			t.Errorf("%s does not record the oldest release that can use the tables: add UPDATE identity SET release = '%s';", name, version.Release)
		}
	}
	s := open(t, filepath.Join(t.TempDir(), "parley.db"))
	var release string
	if err := s.writer.QueryRowContext(t.Context(), oldestRelease).Scan(&release); err != nil || release == "" {
		t.Errorf("the release is %q, %v", release, err)
	}
}

// DI-13: of many that start at once, one gets the file, and its tables are made once.
func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	stores := make([]*Store, 5)
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() {
			s, err := Open(t.Context(), path, Options{})
			var inUse *InUseError
			if err != nil && !errors.As(err, &inUse) {
				t.Error(err)
			}
			stores[i] = s
		})
	}
	wg.Wait()
	stores = slices.DeleteFunc(stores, func(s *Store) bool { return s == nil })
	if len(stores) != 1 {
		t.Fatalf("%d have the file; want 1", len(stores))
	}
	require.NoError(t, stores[0].Close())
}

// DI-14: these settings are what makes accepted mean stored.
func TestConnectionsAreSafe(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	reader, give := s.readers.take()
	defer give()
	for db, settings := range map[*conn]map[string]string{
		s.writer: {"journal_mode": "wal", "synchronous": "2", "fullfsync": "1", "foreign_keys": "1", "busy_timeout": "5000", "query_only": "0"},
		reader:   {"journal_mode": "wal", "query_only": "1", "busy_timeout": "5000"},
	} {
		for name, want := range settings {
			var got string
			if err := db.QueryRow(`PRAGMA ` + name).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %q, %v; want %q", name, got, err, want)
			}
		}
	}
}

func TestFileIsPrivate(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "parley.db"))
	require.NoError(t, s.SaveRoom(t.Context(), chat.Room{ID: "room"}))
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 4 { // the database, its log, the index of that, the lock
		t.Fatal(files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, %v", f.Name(), info.Mode(), err)
		}
	}
}

// A full disk is told of before anything is acknowledged, and what was accepted before is still there.
func TestDiskFull(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	require.Value(s.Accept(t.Context(), message("room", 1), chat.JoinRule{}))(t)
	var size, unlimited int
	require.NoError(t, s.writer.QueryRow(`PRAGMA page_count`).Scan(&size))
	require.NoError(t, s.writer.QueryRow(`PRAGMA max_page_count`).Scan(&unlimited))
	limit(t, s, size)
	long := message("room", 2)
	long.Text = strings.Repeat("long ", 10_000)
	if acc, err := s.Accept(t.Context(), long, chat.JoinRule{}); err == nil || !strings.Contains(err.Error(), "full") || acc.Memory != "" {
		t.Errorf("accepted as %+v on a full disk: %v", acc, err)
	}
	if all, err := s.Recent(t.Context(), "room", chat.Said, 0, 10); err != nil || len(all) != 1 {
		t.Errorf("stored are %d, %v; want 1", len(all), err)
	}
	limit(t, s, unlimited)
	if acc, err := s.Accept(t.Context(), long, chat.JoinRule{}); err != nil || acc.Duplicate || acc.Response != 2 {
		t.Errorf("accepted as %+v when there was room again: %v", acc, err)
	}
}

func limit(t *testing.T, s *Store, pages int) {
	t.Helper()
	var got int
	if err := s.writer.QueryRow(`PRAGMA max_page_count = ` + fmt.Sprint(pages)).Scan(&got); err != nil || got != pages {
		t.Fatalf("the limit is %d, %v; want %d", got, err, pages)
	}
}

func TestReadOnly(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	require.Value(s.writer.Exec(`PRAGMA query_only = 1`))(t)
	if acc, err := s.Accept(t.Context(), message("room", 1), chat.JoinRule{}); err == nil || acc.Memory != "" {
		t.Errorf("accepted as %+v though nothing can be written", acc)
	}
}

func TestAcceptRefuses(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	elsewhere, nameless := message("room", 1), message("room", 1)
	elsewhere.Place.ID = "another room"
	nameless.ID = ""
	for _, in := range []chat.Message{elsewhere, nameless, {}} {
		if acc, err := s.Accept(t.Context(), in, chat.JoinRule{}); err == nil {
			t.Errorf("accepted as %+v: %+v", acc, in)
		}
	}
	run := openRunOf(t, s, "room")
	if err := s.Finish(t.Context(), run, 0, answer.Outcome{Status: answer.Completed}, chat.Memory{ID: "answer", Room: "another room"}); err == nil {
		t.Error("a run ended with an answer of another room")
	}
	if err := s.Finish(t.Context(), run, 0, answer.Outcome{Status: answer.Completed}, chat.Memory{ID: message("room", 1).ID, Room: "room"}); err == nil {
		t.Error("a run ended with an answer that has the id of a message")
	}
	if open, err := s.OpenRuns(t.Context(), "room"); err != nil || len(open) != 1 {
		t.Errorf("open are %v, %v; want 1", open, err)
	}
}

func openRunOf(t *testing.T, s *Store, room chat.RoomID) chat.RunID {
	t.Helper()
	acc := require.Value(s.Accept(t.Context(), message(room, 1), chat.JoinRule{}))(t)
	return acc.Run
}

func TestAfterClose(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	require.NoError(t, s.Ping(t.Context()))
	require.NoError(t, s.Close())
	ctx := t.Context()
	for name, err := range map[string]error{
		"Ping":       s.Ping(ctx),
		"Recent":     second(s.Recent(ctx, "room", chat.Said, 0, 1)),
		"Memory":     second(s.Memory(ctx, "id")),
		"Room":       second(s.Room(ctx, "room")),
		"SaveRoom":   s.SaveRoom(ctx, chat.Room{ID: "room"}),
		"Accept":     second(s.Accept(ctx, message("room", 1), chat.JoinRule{})),
		"Run":        second(s.Run(ctx, "room#1")),
		"OpenRuns":   second(s.OpenRuns(ctx, "room")),
		"OpenRooms":  second(s.OpenRooms(ctx)),
		"Start":      second(s.Start(ctx, "room#1", "owner")),
		"Note":       s.Note(ctx, "room#1", 1, chat.Note{}),
		"Finish":     s.Finish(ctx, "room#1", 1, answer.Outcome{Status: answer.Completed}, chat.Memory{}),
		"RenewLease": s.RenewLease(ctx, "owner", time.Now()),
		"Close once": s.Close(), // may be repeated
	} {
		if want := name != "Close once"; errors.Is(err, ErrClosed) != want {
			t.Errorf("%s answers %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Close in the middle of work: each call is either done or refused, and what was done is stored.
func TestCloseWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	accepted, first := make([]bool, 50), make(chan bool, 50)
	var wg sync.WaitGroup
	for n := range accepted {
		wg.Go(func() {
			_, err := s.Accept(t.Context(), message("room", n), chat.JoinRule{})
			if err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
			accepted[n] = err == nil
			first <- true
		})
	}
	<-first
	require.NoError(t, s.Close())
	wg.Wait()
	reopened := open(t, path)
	for n, yes := range accepted {
		_, err := reopened.Memory(t.Context(), message("room", n).ID)
		if stored := err == nil; stored != yes {
			t.Errorf("message %d: accepted %v, stored %v", n, yes, stored)
		}
	}
}

// However much is stored: a prompt is read off the end of an index, and a run finds what belongs to it without its room.
func TestQueriesReadOnlyWhatTheyReturn(t *testing.T) {
	var selectRun string
	s := require.Value(Open(t.Context(), migrated(t, "parley.db"), Options{Trace: func(statement string) { selectRun = statement }}))(t)
	defer s.Close()
	if _, err := s.Run(t.Context(), "room#1"); !errors.Is(err, chat.ErrNotFound) {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		selectRecent:      "SEARCH memories USING INDEX memories_by_turn (room=? AND kind=? AND turn<?)",
		selectRun:         "SEARCH m USING INDEX memories_of_run (room=? AND turn=?)",
		selectSearchable:  "SEARCH memories USING COVERING INDEX memories_by_author (author=? AND room<?)",
		selectDirectRooms: "SEARCH memories USING COVERING INDEX memories_by_author (author=? AND room>?)",
	} {
		plan, err := list(t.Context(), s.writer, func(r record.Row) (step string, err error) {
			var id, parent, unused int
			return step, r.Scan(&id, &parent, &unused, &step)
		}, `EXPLAIN QUERY PLAN `+query, make([]any, 9)...)
		scans := func(step string) bool { // a table
			return strings.HasPrefix(step, "SCAN ") && step != "SCAN wrote" && step != "SCAN CONSTANT ROW"
		}
		if err != nil || !slices.Contains(plan, want) || slices.ContainsFunc(plan, scans) {
			t.Errorf("the plan of %s is %q, %v", query, plan, err)
		}
	}
}

func TestIDStaysWithTheFile(t *testing.T) {
	dir := t.TempDir()
	id := func(name string) string {
		s := require.Value(Open(t.Context(), filepath.Join(dir, name), Options{}))(t)
		defer s.Close()
		return s.ID()
	}
	a, again, b := id("a.db"), id("a.db"), id("b.db")
	if a == "" || a != again || a == b {
		t.Errorf("the ids are %q, %q and %q", a, again, b)
	}
}
