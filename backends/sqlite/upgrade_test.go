package sqlite

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"parley/core"
)

// goBack takes the tables of a closed store back to an earlier version.
func goBack(t *testing.T, path string, version int64, fill ...string) {
	t.Helper()
	db, err := connect(path, Options{}, "_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, steps, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DownTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	for _, line := range fill {
		if _, err := db.Exec(line); err != nil {
			t.Fatal(err)
		}
	}
}

// DI-13: the pictures of answers from before there were files of other kinds stay, and so do open questions.
func TestPicturesBecomeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	in := core.Message{Memory: core.Memory{ID: "in", Room: "room", Author: "ada", Text: "draw", At: time.Now()}, Place: core.Room{ID: "room"}}
	acc, err := s.Accept(t.Context(), in, core.JoinRule{Duty: core.Reply})
	if err != nil {
		t.Fatal(err)
	}
	q := core.Question{ID: "q", Run: acc.Run, Room: "room", Options: []string{"Yes"}, Expires: time.Now().Add(time.Hour).UTC(), Chooser: "c"}
	if err := s.Ask(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	calls := `{"calls":[{"id":"a","name":"LOOK","stage":"end"},{"id":"b","name":"PAINT","stage":"end","images":["0","1"],"at":3}]}`
	goBack(t, path, 12,
		`INSERT INTO pictures (run, n, type, data) VALUES ('room#1', 0, 'image/png', CAST('one' AS BLOB)), ('room#1', 1, 'image/gif', CAST('three' AS BLOB))`,
		`INSERT INTO memories (id, room, turn, role, kind, author, name, text, in_reply_to, at, history, interrupted, failure, content)
			VALUES ('room#1', 'room', 1, 'said', '', 'agent', '', 'Look!', 'in', 1, '', 0, '', '`+calls+`')`,
		`UPDATE runs SET verdict = json_set('`+calls+`', '$.text', 'Look!', '$.outcome', json('{"status":"completed"}')) WHERE id = 'room#1'`)
	s = open(t, path)
	m, err := s.Memory(t.Context(), "room#1")
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run(t.Context(), acc.Run)
	if err != nil {
		t.Fatal(err)
	}
	want := []core.PastCall{
		{ID: "a", Tool: core.Tool{Name: "LOOK", Stage: core.StageEnd}},
		{ID: "b", Tool: core.Tool{Name: "PAINT", Stage: core.StageEnd}, At: 3,
			Files: []core.PastFile{{N: 0, Type: "image/png", Size: 3}, {N: 1, Type: "image/gif", Size: 5}}},
	}
	for where, got := range map[string][]core.PastCall{"the memory": m.Calls, "the verdict": run.Verdict.Calls} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", where, diff)
		}
	}
	for n, data := range []string{"one", "three"} {
		if b, err := s.File(t.Context(), acc.Run, n); err != nil || string(b.Data) != data {
			t.Errorf("file %d is %+v, %v", n, b, err)
		}
	}
	if got, err := s.QuestionOf(t.Context(), acc.Run); err != nil || fmt.Sprint(got) != fmt.Sprint(q) {
		t.Errorf("the question is %+v, %v", got, err)
	}
	if err := s.Forget(t.Context(), "in"); err != nil {
		t.Fatal(err)
	}
	if b, err := s.File(t.Context(), acc.Run, 0); err == nil {
		t.Errorf("the answer is forgotten, and there is %+v", b)
	}
}

// IN-17: what a store of an earlier version remembers is known after the upgrade, also once it is forgotten.
func TestKnownAfterUpgrade(t *testing.T) {
	s := openWrittenByA661299(t)
	arrived := map[core.MemoryID]core.Accepted{
		"m1": {Memory: "m1", Run: "telegram/1/42#1", Response: 1, Duplicate: true},
		"m4": {Memory: "m4", Run: "telegram/1/42#4", Response: 4, Duplicate: true},
	}
	for id, want := range arrived {
		m, err := s.Memory(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if acc, err := s.Known(t.Context(), m); err != nil || acc != want {
			t.Errorf("%s is known as %+v, %v", id, acc, err)
		}
	}
	if _, err := s.Clear(t.Context(), "telegram/1/42"); err != nil {
		t.Fatal(err)
	}
	for id, want := range arrived {
		if id == "m1" {
			want.Run = "" // it has ended
		}
		if acc, err := s.Known(t.Context(), core.Memory{ID: id, Room: "telegram/1/42"}); err != nil || acc != want {
			t.Errorf("after it was cleared, %s is known as %+v, %v", id, acc, err)
		}
	}
}
