package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

// secret is long enough to fill pages of its own, beside those it shares with others.
func secret(n int) string { return strings.Repeat("the secret is safe. ", n) + "sesame-open" }

// holds returns the names of the store's files that hold what is searched for.
func holds(t *testing.T, path, what string) (names []string) {
	t.Helper()
	for _, name := range []string{path, path + "-wal"} {
		data := require.Value(os.ReadFile(name))(t)
		if bytes.Contains(data, []byte(what)) {
			names = append(names, filepath.Base(name))
		}
	}
	return names
}

// confide stores a secret wherever the text of a conversation goes, and returns the run.
func confide(t *testing.T, s *Store, room chat.RoomID, n int) chat.RunID {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	in := chat.Message{Place: chat.Room{ID: room, Kind: chat.API, Connector: "web"}, Memory: chat.Memory{
		ID: chat.MemoryID(room) + "/in", Room: room, Author: "ada", Name: "Ada " + secret(0), Text: secret(n), At: time.Now(),
		Quoted: chat.Quoted{Text: secret(n)}, Files: []chat.Attachment{{Ref: "f", Text: secret(n)}},
	}}
	acc, err := s.Accept(ctx, in, chat.JoinRule{})
	must(err)
	must(s.RenewLease(ctx, "owner", time.Now().Add(time.Hour)))
	run, err := s.Start(ctx, acc.Run, "owner")
	must(err)
	must(s.Note(ctx, run.ID, run.Epoch, chat.Note{Text: secret(n), Acting: "a", Acted: secret(n)}))
	must(s.Remember(ctx, run.ID, chat.Memory{ID: chat.MemoryID(room) + "/did", Room: room, Kind: chat.ActionResult, Text: secret(n)}))
	must(s.Ask(ctx, chat.Question{ID: string(room) + "q", Run: run.ID, Room: room, Options: []string{secret(n)}, For: []chat.EntityID{"ada"},
		Expires: time.Now().Add(time.Hour), Handler: "c", Payload: secret(n)}))
	v := chat.Verdict{Outcome: answer.Outcome{Status: answer.Completed}, Text: secret(n), Thought: secret(n), History: []string{secret(n)},
		Calls: []answer.PastCall{{ID: "c", Tool: answer.Tool{Result: secret(n)}}}, Files: 1}
	must(s.Note(ctx, run.ID, run.Epoch, chat.Note{Verdict: &v, Files: []llm.File{{Name: secret(0), Type: "text/plain", Data: []byte(secret(n))}}}))
	must(s.Finish(ctx, run.ID, run.Epoch, v.Outcome, chat.Memory{ID: chat.MemoryID(run.ID), Room: room, Author: "agent", Text: secret(n),
		InReplyTo: in.ID, At: time.Now(), History: v.History, Calls: v.Calls}))
	must(s.SaveNote(ctx, chat.RoomNote{Room: room, Kind: chat.SummaryNote, Text: secret(n), First: in.ID, Last: in.ID, At: time.Now()}))
	return run.ID
}

// SE-20: after each kind of deletion neither the file nor its log holds what was deleted, once the upkeep was there. Others' words stay.
func TestDeletedIsGoneFromTheFile(t *testing.T) {
	for name, remove := range map[string]func(s *Store, run chat.RunID) error{
		"a cleared room":      func(s *Store, _ chat.RunID) error { _, err := s.Clear(t.Context(), "room"); return err },
		"a forgotten message": func(s *Store, _ chat.RunID) error { return s.Forget(t.Context(), "room/in") },
	} {
		for _, n := range []int{0, 1, 1000} {
			t.Run(fmt.Sprintf("%s, %d", name, n), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "parley.db")
				s := open(t, path)
				for i := range 20 { // so that pages are shared, and split
					require.Value(s.Accept(t.Context(), message(chat.RoomID(fmt.Sprint("before ", i)), 1), chat.JoinRule{}))(t)
				}
				run := confide(t, s, "room", n)
				for i := range 20 {
					require.Value(s.Accept(t.Context(), message(chat.RoomID(fmt.Sprint("after ", i)), 1), chat.JoinRule{}))(t)
				}
				if _, err := s.Expire(t.Context(), chat.Expiry{}); err != nil { // empties the log once, as it may hold text of an earlier process
					t.Fatal(err)
				}
				if len(holds(t, path, "sesame-open")) == 0 {
					t.Fatal("the file does not hold the secret before it is erased; want it there")
				}
				require.NoError(t, remove(s, run))
				require.Value(s.Expire(t.Context(), chat.Expiry{}))(t)
				if in := holds(t, path, "sesame-open"); len(in) > 0 {
					t.Errorf("it is still in %v", in)
				}
				require.Value(s.Recent(t.Context(), "after 3", chat.Said, 0, 1))(t)
			})
		}
	}
}

// SE-20: of a room that is gone nothing is left in the file: no setting, no fact that came from no message, and no detail of the person
// who is known nowhere else.
func TestRoomThatIsGoneIsGoneFromTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	confide(t, s, "room", 300)
	if _, err := s.SaveEntity(t.Context(), chat.Entity{ID: "ada", Names: []string{secret(1)}, Details: map[string]string{"language": secret(300)}}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []chat.NoteKind{chat.FactNote, chat.SettingNote} {
		require.NoError(t, s.SaveNote(t.Context(), chat.RoomNote{Room: "room", Kind: kind, Key: "a", Text: secret(300), At: time.Now()}))
	}
	require.Value(s.ClearEntirely(t.Context(), "room", "ada"))(t)
	require.Value(s.Expire(t.Context(), chat.Expiry{}))(t)
	if in := holds(t, path, "sesame-open"); len(in) > 0 {
		t.Errorf("it is still in %v", in)
	}
}

// SE-20: what expires, what an edit replaces, and what a run that was open says of a cleared room, are gone from the file too.
func TestLaterDeletionsAreGoneFromTheFile(t *testing.T) {
	for name, remove := range map[string]func(t *testing.T, s *Store){
		"an edit": func(t *testing.T, s *Store) {
			if _, err := s.Accept(t.Context(), chat.Message{Place: chat.Room{ID: "room"}, Memory: chat.Memory{ID: "m", Room: "room", Text: secret(300)}}, chat.JoinRule{}); err != nil {
				t.Fatal(err)
			}
			require.NoError(t, s.Revise(t.Context(), "m", "nothing", nil))
		},
		"an open run": func(t *testing.T, s *Store) {
			acc, err := s.Accept(t.Context(), chat.Message{Place: chat.Room{ID: "room"}, Memory: chat.Memory{ID: "m", Room: "room", Text: secret(300)}}, chat.JoinRule{})
			require.NoError(t, err)
			run := require.Value(s.Start(t.Context(), acc.Run, "owner"))(t)
			require.Value(s.Clear(t.Context(), "room"))(t)
			v := chat.Verdict{Outcome: answer.Outcome{Status: answer.Completed}, Text: secret(300)}
			require.NoError(t, s.Note(t.Context(), run.ID, run.Epoch, chat.Note{Text: secret(300), Verdict: &v}))
			require.NoError(t, s.Finish(t.Context(), run.ID, run.Epoch, v.Outcome, chat.Memory{ID: "out", Room: "room", Text: secret(300)}))
		},
		"a revoked user": func(t *testing.T, s *Store) {
			require.NoError(t, s.Approve(t.Context(), chat.Person{ID: "eve", Name: secret(300)}))
			if _, err := s.Expire(t.Context(), chat.Expiry{}); err != nil { // moves the name from the log into the file
				t.Fatal(err)
			}
			require.NoError(t, s.RemoveUser(t.Context(), "eve"))
		},
		"a stranger": func(t *testing.T, s *Store) {
			require.Value(s.SaveEntity(t.Context(), chat.Entity{ID: "eve", Names: []string{secret(3)}}))(t)
			if _, err := s.Expire(t.Context(), chat.Expiry{}); err != nil { // moves the name from the log into the file
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "parley.db")
			s := open(t, path)
			remove(t, s)
			require.Value(s.Expire(t.Context(), chat.Expiry{Rest: time.Now().Add(time.Minute)}))(t)
			if in := holds(t, path, "sesame-open"); len(in) > 0 {
				t.Errorf("it is still in %v", in)
			}
		})
	}
}

// SE-20: what is taken back, though nothing expires, is gone from the file and its log after the next upkeep.
func TestReplacedIsGoneFromTheFile(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, s *Store){
		"what a run that is tried again had said": func(t *testing.T, s *Store) {
			acc, err := s.Accept(t.Context(), chat.Message{Place: chat.Room{ID: "room"}, Memory: chat.Memory{ID: "m", Room: "room", Text: "hello"}}, chat.JoinRule{})
			require.NoError(t, err)
			run := require.Value(s.Start(t.Context(), acc.Run, "owner"))(t)
			failed := answer.Outcome{Status: answer.Failed, Failure: llm.SetAside}
			require.NoError(t, s.Finish(t.Context(), run.ID, run.Epoch, failed, chat.Memory{ID: "out", Room: "room", Text: secret(300)}))
			require.NoError(t, s.RetryRun(t.Context(), run.ID))
		},
		"a detail that a person deletes": func(t *testing.T, s *Store) {
			for _, text := range []string{secret(300), ""} {
				require.Value(s.SaveEntity(t.Context(), chat.Entity{ID: "eve", Details: map[string]string{"language": text}}))(t)
			}
		},
		"the request of a user who is approved": func(t *testing.T, s *Store) {
			k := chat.PairingRequest{Person: chat.Person{ID: "eve", Name: secret(300)}, Code: "code", Ends: time.Now().Add(time.Hour)}
			if _, _, err := s.RequestPairing(t.Context(), k, chat.PairingRule{Limit: 9}); err != nil {
				t.Fatal(err)
			}
			require.NoError(t, s.Approve(t.Context(), chat.Person{ID: "eve", Name: "Eve"}))
		},
		"a request that is over": func(t *testing.T, s *Store) {
			for id, k := range map[chat.EntityID]chat.PairingRequest{"eve": {Person: chat.Person{Name: secret(300)}, Ends: time.Now()}, "ada": {Person: chat.Person{Name: "Ada"}, Ends: time.Now().Add(time.Hour)}} {
				k.ID, k.Code = id, string(id)
				if _, _, err := s.RequestPairing(t.Context(), k, chat.PairingRule{Limit: 9}); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := s.RequestPairing(t.Context(), chat.PairingRequest{Person: chat.Person{ID: "bob"}, Code: "c"}, chat.PairingRule{Limit: 9}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "parley.db")
			s := open(t, path)
			if _, err := s.Expire(t.Context(), chat.Expiry{}); err != nil { // empties the log once, as it may hold text of an earlier process
				t.Fatal(err)
			}
			replace(t, s)
			require.Value(s.Expire(t.Context(), chat.Expiry{}))(t)
			if in := holds(t, path, "sesame-open"); len(in) > 0 {
				t.Errorf("it is still in %v", in)
			}
		})
	}
}

// While a backup reads the log it can't be emptied: no caller waits long for that, and the next upkeep does it.
func TestLogIsEmptiedLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parley.db")
	s := open(t, path)
	confide(t, s, "room", 10)
	backup, give := s.readers.take()
	require.Value(backup.Exec(`BEGIN`))(t)
	var n int
	require.NoError(t, backup.QueryRow(`SELECT count(*) FROM memories`).Scan(&n))
	require.Value(s.Clear(t.Context(), "room"))(t)
	begun := time.Now()
	if _, err := s.Expire(t.Context(), chat.Expiry{}); err != nil || time.Since(begun) > 3*time.Second {
		t.Errorf("%v, after %v", err, time.Since(begun))
	}
	if len(holds(t, path, "sesame-open")) == 0 {
		t.Error("a reader has lost what it reads")
	}
	require.Value(backup.Exec(`ROLLBACK`))(t)
	give()
	require.Value(s.Expire(t.Context(), chat.Expiry{}))(t)
	if in := holds(t, path, "sesame-open"); len(in) > 0 {
		t.Errorf("it is still in %v", in)
	}
	var wait int
	if err := s.writer.QueryRow(`PRAGMA busy_timeout`).Scan(&wait); err != nil || wait != 5000 {
		t.Errorf("writers now wait for %d ms, %v; want 5000", wait, err)
	}
}
