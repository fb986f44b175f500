package backends

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	native "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"parley/backends/postgres/postgrestest"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/require"
)

// filled returns the address of a file with something in each table.
func filled(t *testing.T) string {
	t.Helper()
	address := "sqlite:" + filepath.Join(t.TempDir(), "parley.db")
	s := require.Value(Open(t.Context(), address, Options{}))(t)
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		require.NoError(t, err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	for n := range 1200 { // more than a page
		in := chat.Message{Memory: chat.Memory{ID: chat.MemoryID(fmt.Sprint("m", n)), Room: "room", Author: "ada", Text: "hello 🙂", At: at},
			Place: chat.Room{ID: "room", Kind: chat.Group, Connector: "fake"}, Address: chat.Address{Connector: "fake", Room: "room", ConnectorData: []byte{0, 0xff}}}
		must(s.Accept(ctx, in, chat.JoinRule{NoRun: n > 2}))
	}
	must(nil, s.RenewLease(ctx, "owner", time.Now().Add(time.Minute)))
	run, err := s.Start(ctx, "room#1", "owner")
	must(nil, err)
	done := answer.Outcome{Status: answer.Completed}
	file := llm.File{Name: "a", Type: "b/c", Data: []byte{0, 1, 0xff}}
	must(nil, s.Note(ctx, run.ID, run.Epoch, chat.Note{Verdict: &chat.Verdict{Outcome: done, Text: "yes"}, Files: []llm.File{file}}))
	must(nil, s.Ask(ctx, chat.Question{ID: "q", Run: run.ID, Room: "room", Options: []string{"A"}, Handler: "c", Expires: at}))
	must(s.RequestApproval(ctx, chat.Approval{ID: "a", Room: "room", Run: run.ID, Call: "c", Tool: "t", Asker: "ada", At: at, Expires: at.Add(time.Hour)}))
	must(nil, s.Finish(ctx, run.ID, run.Epoch, done, chat.Memory{ID: "room#1", Room: "room", Text: "yes"}))
	must(s.Start(ctx, "room#2", "owner"))
	_, _, err = s.RequestPairing(ctx, chat.PairingRequest{Person: chat.Person{ID: "eve"}, Code: "code", Ends: time.Now().Add(time.Hour)}, chat.PairingRule{Limit: 3})
	must(nil, err)
	must(s.SetOwner(ctx, chat.Person{ID: "ada"}))
	must(s.SaveEntity(ctx, chat.Entity{ID: "ada", Names: []string{"Ada"}}))
	must(s.SaveWorld(ctx, chat.World{ID: "world", Name: "World"}))
	must(s.SaveMember(ctx, chat.Member{World: "world", Entity: "ada", Role: "admin"}))
	must(nil, s.SaveNote(ctx, chat.RoomNote{Room: "room", Kind: chat.SettingNote, Key: "k", Text: "t"}))
	must(s.Spend(ctx, "2026-01-02", quota.Charge{Bucket: "ada", Cost: quota.Cost{Tokens: 7}}))
	must(nil, s.AddReminder(ctx, chat.Reminder{ID: "r", Room: "room", Person: "ada", Text: "tea", Due: at, First: at}, chat.ReminderRule{Person: 1, Room: 1}))
	for _, key := range []string{"a", "b"} {
		must(s.BeginUpload(ctx, chat.Upload{ID: key, Room: "room", Sender: "ada", Name: "ä", Type: "b/c", Size: 3, At: at, Attempt: "1"}, chat.UploadRule{}))
		must(nil, s.AddPiece(ctx, key, "1", 0, []byte{0, 1, 0xff}, chat.UploadRule{}))
	}
	must(nil, s.EndUpload(ctx, "a", "1", "b/c", []byte{0xff}))
	must(s.Mark(ctx, "room", "command"))
	must(nil, s.Keep(ctx, "name", "value"))
	must(nil, s.SaveHold(ctx, "scope", time.Now().Add(time.Hour)))
	must(s.BeginWindows(ctx))
	must(nil, s.Close())
	must(nil, withNUL(strings.TrimPrefix(address, "sqlite:")))
	return address
}

// withNUL puts a NUL into the texts of a file, as earlier versions did.
func withNUL(path string) error {
	db, err := native.OpenConn(path, native.OpenReadWrite)
	if err != nil {
		return err
	}
	return errors.Join(sqlitex.ExecuteTransient(db, "UPDATE memories SET text = 'hello ' || char(0) || '🙂'", nil), db.Close())
}

// what is read of a store.
func contents(t *testing.T, address string) map[string]any {
	t.Helper()
	s := require.Value(Open(t.Context(), address, Options{}))(t)
	defer s.Close()
	all := map[string]any{}
	keep := func(name string, v any, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all[name] = v
	}
	ctx := t.Context()
	all["id"] = s.ID()
	memories, err := s.Recent(ctx, "room", chat.Said, 0, 5000)
	for i := range memories {
		memories[i].Text = strings.ReplaceAll(memories[i].Text, "\x00", "")
	}
	keep("memories", memories, err)
	run, err := s.Run(ctx, "room#1")
	run.Opened, run.Ready = time.Time{}, time.Time{} // by the clock of the process, to the microsecond
	keep("run", run, err)
	file, err := s.File(ctx, "room#1", 0)
	keep("file", file, err)
	upload, err := s.Upload(ctx, "a")
	upload.At = time.Time{} // by the clock of the process, to the microsecond
	keep("upload", upload, err)
	piece, err := s.Piece(ctx, "a", 0)
	keep("piece", piece, err)
	owner, err := s.Owner(ctx)
	keep("owner", owner, err)
	entity, err := s.Entity(ctx, "ada")
	keep("entity", entity, err)
	members, err := s.Members(ctx, "world", "", 10)
	keep("members", members, err)
	notes, err := s.Notes(ctx, "room", chat.SettingNote, 10)
	keep("notes", notes, err)
	spent, err := s.Spent(ctx, "2026-01-02", "ada")
	keep("spent", spent, err)
	known, err := s.Known(ctx, chat.Memory{ID: "command", Room: "room"})
	keep("mark", known, err)
	value, err := s.Kept(ctx, "name")
	keep("value", value, err)
	acc, err := s.Accept(ctx, chat.Message{Memory: chat.Memory{ID: "next", Room: "room"}, Place: chat.Room{ID: "room"}}, chat.JoinRule{NoRun: true})
	keep("next", acc, err)
	return all
}

// A move that was interrupted goes on; then the database holds what the file does, and numbers go on.
func TestMove(t *testing.T) {
	server := postgrestest.Shared(t)
	from, to := filled(t), server.Create(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	tables := map[string]int{}
	err := Move(ctx, from, to, func(table string, rows int) {
		if table == "runs" {
			cancel()
		}
		tables[table] = rows
	})
	if !errors.Is(err, context.Canceled) || tables["memories"] != 1201 || len(tables) != 3 {
		t.Fatalf("interrupted: %v, %v", tables, err)
	}
	if s, err := Open(t.Context(), to, Options{}); err == nil || !strings.Contains(err.Error(), "gateway migrate") {
		t.Errorf("a gateway uses a database that is not complete: %v, %v", s, err)
	}
	if c, err := Check(t.Context(), to); err == nil || !strings.Contains(err.Error(), "gateway migrate") {
		t.Errorf("a check of a database that is not complete says %+v, %v", c, err)
	}
	other := filled(t)
	if err := Move(t.Context(), other, to, func(string, int) {}); err == nil || !strings.Contains(err.Error(), "another store") {
		t.Errorf("another store was moved there too: %v", err)
	}
	require.NoError(t, Move(t.Context(), from, to, func(table string, rows int) { tables[table] = rows }))
	for table, rows := range tables {
		if rows == 0 {
			t.Errorf("%s is empty, so its move was not tried", table)
		}
	}
	if err := Move(t.Context(), from, to, func(string, int) {}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("moved twice: %v", err)
	}
	if diff := cmp.Diff(contents(t, from), contents(t, to)); diff != "" {
		t.Errorf("after the move (-file +database):\n%s", diff)
	}
}

// A row that differs is found.
func TestMoveCompares(t *testing.T) {
	server := postgrestest.Shared(t)
	from, to := filled(t), server.Create(t, "")
	err := Move(t.Context(), from, to, func(table string, _ int) {
		if table == "rooms" {
			name := to[strings.LastIndex(to, "/")+1 : strings.Index(to, "?")]
			if err := server.Exec(t.Context(), name, `INSERT INTO memories (seq, id, room, turn, role, kind, author, name, text, in_reply_to, at, history, interrupted, failure, content)
				VALUES (0, 'x', 'room', 1, 'heard', '', '', '', 'forged', '', 0, '', false, '', '')`); err != nil {
				t.Error(err)
			}
		}
	})
	if err == nil || !strings.Contains(err.Error(), "memories differs") {
		t.Errorf("a forged row was not found: %v", err)
	}
}
