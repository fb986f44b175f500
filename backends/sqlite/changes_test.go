package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

// seen returns what the store tells of room "a", "b" and of ada, each of which it then holds in its cache.
func seen(t *testing.T, s *Store) map[string]any {
	t.Helper()
	all := map[string]any{}
	note := func(what string, v any, err error) {
		t.Helper()
		if err != nil && !errors.Is(err, chat.ErrNotFound) {
			t.Fatalf("%s: %v", what, err)
		}
		all[what] = v
	}
	for _, id := range []chat.RoomID{"a", "b"} {
		said, err := s.Recent(t.Context(), id, chat.Said, 0, 64)
		note(fmt.Sprint("messages of ", id), said, err)
		results, err := s.Recent(t.Context(), id, chat.ActionResult, 0, 5)
		note(fmt.Sprint("results of ", id), results, err)
		facts, err := s.Notes(t.Context(), id, chat.FactNote, 10)
		note(fmt.Sprint("facts of ", id), facts, err)
		settings, err := s.Notes(t.Context(), id, chat.SettingNote, 10)
		note(fmt.Sprint("settings of ", id), settings, err)
		open, err := s.OpenQuestions(t.Context(), id)
		note(fmt.Sprint("questions of ", id), open, err)
		room, err := s.Room(t.Context(), id)
		note(fmt.Sprint("room ", id), room, err)
		attention, err := s.Attention(t.Context(), id)
		note(fmt.Sprint("attention of ", id), attention, err)
	}
	ada, err := s.Entity(t.Context(), "ada")
	note("ada", ada, err)
	return all
}

// Whatever statement changes what the cache holds, what is read afterwards is what is stored. No statement needs to announce it: triggers
// see it.
func TestNothingCachedOutlivesAChange(t *testing.T) {
	const memories = `INSERT INTO memories (id, room, turn, role, kind, author, name, text, in_reply_to, at, history, interrupted, failure, content) VALUES `
	for _, c := range []struct{ statement, changes string }{
		{memories + `('m2', 'a', 2, 'heard', '', 'ada', 'Ada', 'more', '', 2, '', 0, '', '')`, "messages of a"},
		{memories + `('m2', 'a', 2, 'beside', 'action_result', 'ada', 'Ada', 'more', '', 2, '', 0, '', '')`, "results of a"},
		{`DELETE FROM memories WHERE id = 'm1'`, "messages of a"},
		{`UPDATE memories SET text = 'changed' WHERE id = 'm1'`, "messages of a"},
		{`UPDATE memories SET room = 'b' WHERE id = 'm1'`, "messages of a, messages of b"},
		{`UPDATE memories SET kind = 'action_result' WHERE id = 'm1'`, "messages of a, results of a"},
		{`REPLACE INTO room_notes (room, kind, key, about, text, first, last, first_turn, last_turn, at) VALUES ('a', 'fact', 'k', '', 'changed', '', '', 0, 0, 1)`, "facts of a"},
		{`DELETE FROM room_notes WHERE room = 'a'`, "facts of a"},
		{`UPDATE room_notes SET text = 'changed'`, "facts of a"},
		{`UPDATE room_notes SET room = 'b', kind = 'setting'`, "facts of a, settings of b"},
		{`INSERT INTO rooms (id, world, kind, connector, name, created, attention) VALUES ('b', '', 'group', 'fake', 'B', 1, 'muted')`, "attention of b, room b"},
		{`REPLACE INTO rooms (id, world, kind, connector, name, created) VALUES ('a', '', 'group', 'fake', 'changed', 1)`, "attention of a, room a"},
		{`DELETE FROM memories; DELETE FROM room_notes; DELETE FROM runs; DELETE FROM rooms WHERE id = 'a'`, "attention of a, facts of a, messages of a, room a"},
		{`UPDATE rooms SET attention = 'ambient' WHERE id = 'a'`, "attention of a"},
		{`UPDATE rooms SET name = 'changed' WHERE id = 'a'`, "room a"},
		{`UPDATE rooms SET address = '{"connector":"fake","room":"a"}' WHERE id = 'a'`, "room a"},
		{`UPDATE rooms SET gone = 1 WHERE id = 'a'`, "room a"},
		{`UPDATE rooms SET turns = turns + 1 WHERE id = 'a'`, ""},
		{`REPLACE INTO entities (id, connector, names, bot) VALUES ('ada', 'fake', '["Ada","Lady"]', 0)`, "ada"},
		{`UPDATE entities SET bot = 1`, "ada"},
		{`DELETE FROM entities`, "ada"},
		{`INSERT INTO questions (id, run, room, expires, question) VALUES ('q2', 'a#2', 'a', 9000000000000000000, '{"id":"q2"}')`, "questions of a"},
		{`UPDATE questions SET expires = 0`, "questions of a"},
		{`UPDATE questions SET room = 'b'`, "questions of a, questions of b"},
		{`DELETE FROM questions`, "questions of a"},
	} {
		t.Run(c.statement, func(t *testing.T) {
			s := open(t, migrated(t, "parley.db"))
			in := message("a", 1)
			in.Memory.ID, in.Author, in.Place.Name = "m1", "ada", "A"
			require.Value(s.Accept(t.Context(), in, chat.JoinRule{NoRun: true}))(t)
			require.Value(s.SaveEntity(t.Context(), chat.Entity{ID: "ada", Connector: "fake", Names: []string{"Ada"}}))(t)
			require.NoError(t, s.SaveNote(t.Context(), chat.RoomNote{Room: "a", Kind: chat.FactNote, Key: "k", Text: "fact", At: time.Now()}))
			direct(t, s, `UPDATE rooms SET attention = 'muted'`)
			direct(t, s, `INSERT INTO questions (id, run, room, expires, question) VALUES ('q1', 'a#1', 'a', 9000000000000000000, '{"id":"q1"}')`)
			if !strings.Contains(c.changes, "room b") { // foreign keys need it
				direct(t, s, `INSERT INTO rooms (id, world, kind, connector, name, created) VALUES ('b', '', 'group', 'fake', 'B', 1)`)
			}
			before := seen(t, s)
			if again := seen(t, s); !reflect.DeepEqual(before, again) {
				t.Fatalf("from the cache: %v", again)
			}
			direct(t, s, c.statement)
			cached := seen(t, s)
			s.cache.clear()
			stored := seen(t, s)
			var changed []string
			for _, what := range slices.Sorted(maps.Keys(stored)) {
				if !reflect.DeepEqual(stored[what], cached[what]) {
					t.Errorf("%s: the cache holds %v instead of %v", what, cached[what], stored[what])
				}
				if !reflect.DeepEqual(stored[what], before[what]) {
					changed = append(changed, what)
				}
			}
			if got := strings.Join(changed, ", "); got != c.changes {
				t.Errorf("it has changed %s; want %s", got, c.changes)
			}
		})
	}
}

// Accepted messages are added to what is cached, so that no turn reads what an earlier one has read.
func TestCachedReadsMakeNoStatements(t *testing.T) {
	var reading atomic.Bool
	var made atomic.Int64
	s, err := Open(t.Context(), migrated(t, "parley.db"), Options{Trace: func(statement string) {
		if reading.Load() {
			made.Add(1)
		}
	}})
	require.NoError(t, err)
	defer s.Close()
	for n := range 5 {
		in := message("a", n)
		in.Address.ConnectorData = fmt.Append(nil, n)
		require.Value(s.Accept(t.Context(), in, chat.JoinRule{NoRun: true}))(t)
		if n == 0 {
			seen(t, s)
		}
		reading.Store(true)
		all, err := s.Recent(t.Context(), "a", chat.Said, 0, 64)
		if err != nil || len(all) != n+1 {
			t.Errorf("there are %d messages, %v", len(all), err)
		}
		if all, err := s.Recent(t.Context(), "a", chat.Said, 0, -1); err != nil || len(all) > 0 {
			t.Errorf("of fewer than none, there are %d messages, %v; want none", len(all), err)
		}
		if r, err := s.Room(t.Context(), "a"); err != nil || !reflect.DeepEqual(r.Address, in.Here().Address) {
			t.Errorf("the room is %v, %v", r, err)
		}
		if _, err := s.Attention(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		reading.Store(false)
	}
	if n := made.Load(); n > 0 {
		t.Errorf("%d statements are made; want none", n)
	}
}

// What a transaction has changed is forgotten with the next one, and what was rolled back alone is forgotten at once.
func TestChangesAreForgotten(t *testing.T) {
	var c changes
	for range 3 {
		c.add(room(1))
		c.add(room(2))
		c.add(room(3))
		c.forget(1)
		if len(c.all) != 1 || c.all[0].of != room(1) {
			t.Errorf("of the first, it holds %v", c.all)
		}
		if c.forget(0); len(c.all) != 0 {
			t.Errorf("of nothing, it holds %v; want none", c.all)
		}
	}
}

// A database that can't be watched is not opened: its cache would be old.
func TestUnwatchedTableIsAnError(t *testing.T) {
	if _, err := watch(t.Context(), plain(t)); err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("it says %v", err)
	}
}

// direct runs statements in a transaction of the store.
func direct(t *testing.T, s *Store, statements string) {
	t.Helper()
	err := s.write(t.Context(), func(ctx context.Context, tx *conn) error {
		for statement := range strings.SplitSeq(statements, ";") {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// A write that fails beside others leaves no trace in the cache, also if it would have made a history longer.
func TestCacheForgetsWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, migrated(t, "parley.db"))
		accept := func(n int, then error) error {
			return s.write(t.Context(), func(ctx context.Context, tx *conn) error {
				_, err := inTransaction(s, tx).Accept(ctx, message("a", n), chat.JoinRule{NoRun: true})
				return errors.Join(err, then)
			})
		}
		require.NoError(t, accept(1, nil))
		refused := errors.New("refused")
		for n := 2; n < 20; n += 3 {
			if len(seen(t, s)["messages of a"].([]chat.Memory)) == 0 {
				t.Fatal("the cache has no messages; want those of room a")
			}
			s.writes.turn <- struct{}{} // so that the three share a transaction
			var wg sync.WaitGroup
			for i, then := range []error{nil, refused, nil} {
				wg.Go(func() {
					if err := accept(n+i, then); !errors.Is(err, then) {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			<-s.writes.turn
			wg.Wait()
			cached := seen(t, s)
			s.cache.clear()
			if stored := seen(t, s); !reflect.DeepEqual(cached, stored) {
				t.Fatalf("the cache holds %v instead of %v", cached, stored)
			}
		}
	})
}

// What an owner changes in the file with another program counts from the next message on.
func TestChangesOfAnotherProgramCount(t *testing.T) {
	path := migrated(t, "parley.db")
	s := open(t, path)
	for n := range 3 {
		require.Value(s.Accept(t.Context(), message("a", n), chat.JoinRule{NoRun: true}))(t)
	}
	if n := len(seen(t, s)["messages of a"].([]chat.Memory)); n != 3 {
		t.Fatalf("%d messages; want 3", n)
	}
	s.audit = nil // until the next message, the cache is old
	other := require.Value(dial(path, Options{}))(t)
	defer other.Close()
	mustExec(t, other, `UPDATE memories SET text = 'changed'`)
	require.Value(s.Accept(t.Context(), message("a", 3), chat.JoinRule{NoRun: true}))(t)
	for i, m := range seen(t, s)["messages of a"].([]chat.Memory) {
		if i < 3 && m.Text != "changed" {
			t.Errorf("%v", m)
		}
	}
}
