package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/core/chat"
	"parley/internal/require"
)

// texts returns the ids and texts of all messages in the file at path.
func texts(t *testing.T, path string) (all []string) {
	t.Helper()
	err := onceIn(t.Context(), path, func(c *conn) error {
		rows, err := c.QueryContext(t.Context(), `SELECT id || ' ' || room || ' ' || text FROM memories ORDER BY seq`)
		for err == nil && rows.Next() {
			var text string
			err = rows.Scan(&text)
			all = append(all, text)
		}
		if err == nil {
			err = rows.Close()
		}
		return err
	})
	require.NoError(t, err)
	return all
}

// filesIn returns the names of the files in a folder.
func filesIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries := require.Value(os.ReadDir(dir))(t)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// A copy that is made while messages are stored shows one moment: the first messages, without a gap. A restore brings back exactly
// these.
func TestBackupUnderLoad(t *testing.T) {
	path := migrated(t, "parley.db")
	s := open(t, path)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	begun := make(chan struct{})
	writing.Go(func() {
		for n := 1; ; n++ {
			if _, err := s.Accept(t.Context(), message("a", n), chat.JoinRule{}); err != nil {
				t.Error(err)
			}
			if n == 20 {
				close(begun)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	<-begun
	copied := filepath.Join(t.TempDir(), "backup.db")
	c, err := Backup(t.Context(), path, copied)
	close(stop)
	writing.Wait()
	if err != nil || c.Messages < 20 || c.Size == 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	require.NoError(t, s.Close())
	all, kept := texts(t, path), texts(t, copied)
	if len(kept) != c.Messages || !slices.Equal(kept, all[:len(kept)]) {
		t.Errorf("the copy has %d messages, and they differ from the first ones of %d", len(kept), len(all))
	}
	if got := filesIn(t, filepath.Dir(copied)); !slices.Equal(got, []string{"backup.db"}) {
		t.Errorf("the folder of the copy has %q", got)
	}
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	r, err := Restore(t.Context(), copied, path, RestoreOptions{})
	if err != nil || r.Runs == 0 || r.Messages != len(kept) {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := texts(t, path); !slices.Equal(got, kept) {
		t.Errorf("restored are %d messages, not the %d of the copy", len(got), len(kept))
	}
	if got := texts(t, r.Replaced); !slices.Equal(got, all) {
		t.Errorf("the replaced store has %d messages of %d", len(got), len(all))
	}
}

// A backup replaces no file, also not the store or a file that SQLite takes for a part of it, and leaves nothing when it fails.
func TestBackupRefuses(t *testing.T) {
	path := migrated(t, "parley.db")
	dir := filepath.Dir(path)
	notAStore := filepath.Join(dir, "notes.txt")
	for name, text := range map[string]string{notAStore: strings.Repeat("these are notes\n", 100), filepath.Join(dir, "empty"): ""} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	damaged := filepath.Join(dir, "damaged.db")
	writeDamaged(t, path, damaged)
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	before := filesIn(t, dir)
	for _, c := range []struct{ from, to, says string }{
		{path, path, "exists already"},
		{path, notAStore, "exists already"},
		{path, dir, "exists already"},
		{path, filepath.Join(dir, "link"), "exists already"},
		{path, path + "-wal", "a part of the store"},
		{path, path + "-journal", "a part of the store"},
		{path, path + tombstoneEnding, "a part of the store"},
		{path, filepath.Join(dir, "no", "backup.db"), "does not exist"},
		{filepath.Join(dir, "other.db"), filepath.Join(dir, "backup.db"), "there is no file"},
		{notAStore, filepath.Join(dir, "backup.db"), "not a database; restore an earlier backup"},
		{filepath.Join(dir, "empty"), filepath.Join(dir, "backup.db"), "not a store of Parley; restore an earlier backup"},
		{damaged, filepath.Join(dir, "backup.db"), "restore an earlier backup"},
	} {
		if _, err := Backup(t.Context(), c.from, c.to); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("a backup of %s to %s ends with %v", c.from, c.to, err)
		}
	}
	if got := filesIn(t, dir); !slices.Equal(got, before) {
		t.Errorf("the folder has %q; it had %q", got, before)
	}
}

// Deletions that were made since a backup are made again when it is restored, and no others: what was written after an earlier
// deletion stays.
func TestRestoreRepeatsDeletions(t *testing.T) {
	path := migrated(t, "parley.db")
	s := open(t, path)
	say := func(room chat.RoomID, author chat.EntityID, n int) chat.MemoryID {
		t.Helper()
		m := message(room, n)
		m.ID, m.Author = chat.MemoryID(fmt.Sprint(room, n)), author
		require.Value(s.Accept(t.Context(), m, chat.JoinRule{}))(t)
		return m.ID
	}
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	must(s.Keep(t.Context(), "stream/place", "7"))
	say("cleared before", "ada", 1)
	_, err := s.Clear(t.Context(), "cleared before")
	must(err)
	say("cleared before", "ada", 2)
	say("cleared", "ada", 3)
	one := say("group", "ada", 4)
	say("group", "ada", 5)
	say("group", "bob", 6)
	must(s.Approve(t.Context(), chat.Person{ID: "bob"}))
	backup := filepath.Join(t.TempDir(), "backup.db")
	_, err = Backup(t.Context(), path, backup)
	must(err)
	_, err = s.Clear(t.Context(), "cleared")
	must(err)
	must(s.Forget(t.Context(), one))
	must(s.Forget(t.Context(), "never stored"))
	_, err = s.DeletePersonal(t.Context(), "bob")
	must(err)
	must(s.Approve(t.Context(), chat.Person{ID: "bob"}))
	must(s.RemoveUser(t.Context(), "bob"))
	old := s.ID()
	must(s.Close())
	r, err := Restore(t.Context(), backup, path, RestoreOptions{Drop: []string{"stream/"}})
	if err != nil || r.Deletions < 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := texts(t, path); len(got) != 2 || !strings.HasPrefix(got[0], "cleared before2 ") || !strings.HasPrefix(got[1], "group5 ") {
		t.Errorf("restored is %q", got)
	}
	s = open(t, path)
	all, err := s.People(t.Context())
	must(err)
	place, err := s.Kept(t.Context(), "stream/place")
	must(err)
	held, err := s.Kept(t.Context(), RestoredNote)
	must(err)
	runs, err := s.OpenRuns(t.Context(), "owner")
	must(err)
	if len(all) > 0 || place != "" || held == "" || len(runs) > 0 || s.ID() == old {
		t.Errorf("people %v, place %q, held %q, runs %v, id %s of %s", all, place, held, runs, s.ID(), old)
	}
	must(s.Forget(t.Context(), "group5")) // recorded after those of the earlier store
	must(s.Close())
	if data, err := os.ReadFile(path + tombstoneEnding); err != nil || strings.Contains(string(data), "answer") {
		t.Errorf("the tombstones are %s, %v", data, err)
	}
	again, err := Restore(t.Context(), backup, path, RestoreOptions{})
	if got := texts(t, path); err != nil || again.Deletions != r.Deletions+1 || len(got) != 1 {
		t.Errorf("a second restore: %+v, %q, %v", again, got, err)
	}
}

// The file of tombstones stays small. A backup that is older than its first line is restored only on request.
func TestTombstonesAreBounded(t *testing.T) {
	path := migrated(t, "parley.db")
	backup := filepath.Join(t.TempDir(), "backup.db")
	s := open(t, path)
	require.Value(Backup(t.Context(), path, backup))(t)
	s.tombstones.most = 2000
	for n := range 60 {
		require.Value(s.Clear(t.Context(), chat.RoomID(fmt.Sprint("room ", n))))(t)
	}
	require.NoError(t, s.Close())
	f := require.Value(os.OpenFile(path+tombstoneEnding, os.O_APPEND|os.O_WRONLY, 0))(t)
	if _, err := f.WriteString(`{"seq":9`); err != nil { // half a line, of a crash
		t.Fatal(err)
	}
	f.Close()
	s = open(t, path)
	require.Value(s.Clear(t.Context(), "last"))(t)
	s.Close()
	all, size, err := readTombstones(path + tombstoneEnding)
	if err != nil || size > 3000 || len(all) < 5 || all[len(all)-1].Seq != 61 || all[len(all)-1].ID != "last" {
		t.Errorf("%d bytes, %+v, %v", size, all, err)
	}
	if _, err := Restore(t.Context(), backup, path, RestoreOptions{}); !errors.Is(err, ErrIncomplete) {
		t.Errorf("an old backup: %v", err)
	}
	if r, err := Restore(t.Context(), backup, path, RestoreOptions{Incomplete: true}); err != nil || r.Deletions != len(all) {
		t.Errorf("an old backup on request: %+v, %v", r, err)
	}
}

// A file of tombstones that can't be shortened is as long as before, and is shortened later.
func TestTombstonesThatCannotBeShortened(t *testing.T) {
	missing, unnamable := filepath.Join(t.TempDir(), "missing"), filepath.Join(t.TempDir(), strings.Repeat("a", 250)) // the name of a file next to it is too long
	require.NoError(t, os.WriteFile(unnamable, []byte("{}\n{}\n{}\n{}\n"), 0o600))
	for _, path := range []string{missing, unnamable} {
		f := tombstones{path: path, size: 12}
		if err := f.shorten(); err == nil || f.size != 12 {
			t.Errorf("%s is shortened to %d bytes, %v; want 12 and an error", path, f.size, err)
		}
	}
}

// A store that is in use, and a backup that can't be used, leave everything as it is.
func TestRestoreRefuses(t *testing.T) {
	path := migrated(t, "parley.db")
	dir := filepath.Dir(path)
	backup, newerBackup, notes := filepath.Join(dir, "backup.db"), filepath.Join(dir, "newer.db"), filepath.Join(dir, "notes.txt")
	for _, to := range []string{backup, newerBackup} {
		require.Value(Backup(t.Context(), path, to))(t)
	}
	err := onceIn(t.Context(), newerBackup, func(c *conn) error {
		_, err := c.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)`)
		return err
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(notes, []byte(strings.Repeat("these are notes\n", 100)), 0o600))
	damaged, truncated := filepath.Join(dir, "damaged.db"), filepath.Join(dir, "truncated.db")
	writeDamaged(t, backup, damaged)
	data := require.Value(os.ReadFile(backup))(t)
	require.NoError(t, os.WriteFile(truncated, data[:len(data)/2], 0o600))
	s := open(t, path)
	if _, err := Restore(t.Context(), backup, path, RestoreOptions{}); err == nil || !strings.Contains(err.Error(), "in use by process") {
		t.Errorf("with a gateway: %v", err)
	}
	s.Close()
	before := filesIn(t, dir)
	for from, says := range map[string]string{path: "the store itself", newerBackup: "version 99999", notes: "not a database; restore another backup", filepath.Join(dir, "no.db"): "there is no file",
		damaged: "reading " + damaged, truncated: "restore another backup"} {
		if _, err := Restore(t.Context(), from, path, RestoreOptions{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("from %s: %v", from, err)
		}
	}
	if got := filesIn(t, dir); !slices.Equal(got, before) {
		t.Errorf("the folder has %q; it had %q", got, before)
	}
}

// writeDamaged writes a copy of the store at from in which a page is overwritten.
func writeDamaged(t *testing.T, from, to string) {
	t.Helper()
	require.Value(Backup(t.Context(), from, to))(t)
	var root, size int64
	require.NoError(t, onceIn(t.Context(), to, func(c *conn) error {
		return c.QueryRowContext(t.Context(), `SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'notes'`).Scan(&root, &size)
	}))
	f, err := os.OpenFile(to, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte(strings.Repeat("X", 100)), (root-1)*size)
	require.NoError(t, errors.Join(err, f.Close()))
}

// Memory sticks and some network drives have no hard links. Files get their names all the same, and replace none.
func TestNamesWithoutLinks(t *testing.T) {
	noLinks := func(string, string) error { return errors.ErrUnsupported }
	path := migrated(t, "parley.db")
	dir := filepath.Dir(path)
	temp, taken := filepath.Join(dir, "temp"), filepath.Join(dir, "taken")
	require.NoError(t, os.WriteFile(temp, []byte("new"), 0o600))
	require.NoError(t, os.WriteFile(taken, nil, 0o600))
	if err := rename(noLinks, temp, taken); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("to a taken name: %v", err)
	}
	require.NoError(t, rename(noLinks, temp, filepath.Join(dir, "free")))
	replaced := require.Value(replace(t.Context(), noLinks, path, filepath.Join(dir, "free")))(t)
	if text, err := os.ReadFile(path); err != nil || string(text) != "new" {
		t.Errorf("the store is %q, %v", text, err)
	}
	if texts(t, replaced) != nil {
		t.Error("the earlier store has messages")
	}
}
