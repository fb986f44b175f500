package sqlite

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
	"parley/internal/require"
	"parley/internal/subtest"
)

// failing makes each statement of the writer fail for which fails returns true. With nil, none fails any more.
func failing(s *Store, fails func(statement string) bool) {
	stopped := make(chan struct{})
	close(stopped)
	s.writer.trace = func(statement string) {
		if fails != nil && fails(statement) {
			s.writer.db.SetInterrupt(stopped)
		} else {
			s.writer.db.SetInterrupt(nil)
		}
	}
}

// interrupted reports whether err is that of a statement of a store that is failing.
func interrupted(err error) bool { return err != nil && strings.Contains(err.Error(), "interrupted") }

// state returns what the tests of this file can change.
func state(t *testing.T, s *Store) map[string]any {
	t.Helper()
	s.cache.clear()
	all := seen(t, s)
	runs := require.Value(s.OpenRuns(t.Context(), "a"))(t)
	all["runs"] = runs
	return all
}

// A write fails if any of its statements fails, also those that begin and end the transaction. Then nothing of it is stored, and the next
// write succeeds.
func TestWriteFailsWithEachOfItsStatements(t *testing.T) {
	echo := message("a", 2)
	echo.ID = "answer"
	for name, write := range map[string]func(context.Context, *Store) error{
		"a message": func(ctx context.Context, s *Store) error {
			_, err := s.Accept(ctx, message("a", 3), chat.JoinRule{})
			return err
		},
		"a result": func(ctx context.Context, s *Store) error {
			return s.Remember(ctx, "a#1", chat.Memory{ID: "result", Room: "a", Kind: chat.ActionResult, Text: "42"})
		},
		"an answer with an echo": func(ctx context.Context, s *Store) error {
			return s.Finish(ctx, "a#1", 0, answer.Outcome{Status: answer.Completed}, chat.Memory{ID: "answer", Room: "a", Text: "42"})
		},
		"the end of a conversation": func(ctx context.Context, s *Store) error {
			_, err := s.ClearEntirely(ctx, "a", "ada")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			prepared := func(t *testing.T) *Store {
				s := open(t, migrated(t, "parley.db"))
				require.Value(s.Accept(t.Context(), message("a", 1), chat.JoinRule{}))(t)
				require.Value(s.Accept(t.Context(), echo, chat.JoinRule{NoRun: true}))(t)
				return s
			}
			var statements []string
			s := prepared(t)
			failing(s, func(statement string) bool { statements = append(statements, statement); return false })
			require.NoError(t, write(t.Context(), s))
			failing(s, nil)
			if len(statements) < 5 || !slices.Contains(statements, "COMMIT") {
				t.Fatalf(`it makes the statements %q; want at least 5 and them to contain "COMMIT"`, statements)
			}
			for _, broken := range statements {
				s := prepared(t)
				before := state(t, s)
				failing(s, func(statement string) bool { return statement == broken })
				if err := write(t.Context(), s); !interrupted(err) {
					t.Errorf("without %s it says %v", broken, err)
				}
				if cached, stored := seen(t, s), state(t, s); !reflect.DeepEqual(before, stored) || !within(cached, stored) {
					t.Errorf("without %s it leaves %v", broken, stored)
				}
				if ping := s.Ping(t.Context()); broken == "COMMIT" && ping == nil {
					t.Error("a readiness probe succeeds although nothing can be committed")
				}
				failing(s, nil)
				if err := write(t.Context(), s); err != nil {
					t.Errorf("after %s failed once: %v", broken, err)
				}
				if err := s.Ping(t.Context()); err != nil {
					t.Errorf("after that, a readiness probe fails: %v", err)
				}
			}
		})
	}
}

// The first charge of a day fails if it can't be stored, although old days can be deleted.
func TestFirstChargeOfADayFails(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	failing(s, func(statement string) bool { return strings.HasPrefix(statement, "INSERT INTO spending") })
	if _, err := s.Spend(t.Context(), "2026-11-27", quota.Charge{Bucket: "ada", Cost: quota.Cost{Tokens: 1}}); !interrupted(err) {
		t.Errorf("it says %v; want that it was interrupted", err)
	}
}

// within reports whether all has each entry of some.
func within(some, all map[string]any) bool {
	for what, v := range some {
		if !reflect.DeepEqual(v, all[what]) {
			return false
		}
	}
	return true
}

// If a write that fails can't be taken back alone, all that share its transaction fail, and nothing of them is stored.
func TestSavepointThatFails(t *testing.T) {
	for _, broken := range []string{"SAVEPOINT job", "ROLLBACK TO job", "RELEASE job"} {
		t.Run(broken, subtest.Of(synctest.Test, func(t *testing.T) {
			s := open(t, migrated(t, "parley.db"))
			refused := errors.New("refused")
			failing(s, func(statement string) bool { return statement == broken })
			s.writes.turn <- struct{}{} // so that they share a transaction
			var wg sync.WaitGroup
			for n, then := range []error{nil, refused, nil} {
				wg.Go(func() {
					err := s.write(t.Context(), func(ctx context.Context, tx *conn) error {
						_, err := inTransaction(s, tx).Accept(ctx, message("a", n), chat.JoinRule{NoRun: true})
						return errors.Join(err, then)
					})
					if !interrupted(err) {
						t.Errorf("write %d says %v", n, err)
					}
				})
				synctest.Wait()
			}
			<-s.writes.turn
			wg.Wait()
			failing(s, nil)
			if all := state(t, s)["messages of a"].([]chat.Memory); len(all) > 0 {
				t.Errorf("stored are %v; want none", all)
			}
			if _, err := s.Accept(t.Context(), message("a", 1), chat.JoinRule{}); err != nil {
				t.Errorf("the next write: %v", err)
			}
		}))
	}
}

// When SQLite rolls back by itself, as it can when the disk is full, a write fails with the reason, and the next one succeeds.
func TestSQLiteRollsBackByItself(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	mustExec(t, s.writer, `CREATE TRIGGER refuses AFTER INSERT ON memories BEGIN SELECT raise(ROLLBACK, 'refused here'); END`)
	before := state(t, s)
	tries := 0
	err := s.write(t.Context(), func(ctx context.Context, tx *conn) error {
		tries++
		_, err := inTransaction(s, tx).Accept(ctx, message("a", 1), chat.JoinRule{})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "refused here") || tries != 1 {
		t.Errorf("after %d tries it says %v; want one try and the reason", tries, err)
	}
	if after := state(t, s); !reflect.DeepEqual(before, after) {
		t.Errorf("it leaves %v", after)
	}
	mustExec(t, s.writer, `DROP TRIGGER refuses`)
	require.Value(s.Accept(t.Context(), message("a", 1), chat.JoinRule{}))(t)
}

// A read that fails is an error, whether or not its statement was prepared before, and its result is not cached.
func TestReadsThatFailAreErrors(t *testing.T) {
	for _, used := range []bool{false, true} {
		s := require.Value(Open(t.Context(), migrated(t, "parley.db"), Options{Readers: 1}))(t)
		defer s.Close()
		require.Value(s.Accept(t.Context(), message("a", 1), chat.JoinRule{}))(t)
		reads := func() map[string]error {
			return map[string]error{
				"messages":      second(s.Recent(t.Context(), "a", chat.Said, 0, 10)),
				"many messages": second(s.Recent(t.Context(), "a", chat.Said, 0, mostKept+1)),
				"a memory":      second(s.Memory(t.Context(), message("a", 1).ID)),
				"notes":         second(s.Notes(t.Context(), "a", chat.FactNote, 10)),
				"questions":     second(s.OpenQuestions(t.Context(), "a")),
				"a room":        second(s.Room(t.Context(), "a")),
				"attention":     second(s.Attention(t.Context(), "a")),
				"free space":    second(s.shrink(t.Context())),
			}
		}
		interrupt := func(stop <-chan struct{}) {
			reader, give := s.readers.take()
			reader.db.SetInterrupt(stop)
			give()
		}
		if used {
			reads()
			s.cache.clear()
		}
		stopped := make(chan struct{})
		close(stopped)
		interrupt(stopped)
		for what, err := range reads() {
			if !interrupted(err) {
				t.Errorf("%s, prepared before: %v; it says %v", what, used, err)
			}
		}
		interrupt(nil)
		for what, err := range reads() {
			if err != nil {
				t.Errorf("%s, afterwards: %v", what, err)
			}
		}
		if all, err := s.Recent(t.Context(), "a", chat.Said, 0, 10); err != nil || len(all) != 1 {
			t.Errorf("afterwards there are %v, %v; want 1", all, err)
		}
	}
}

// A damaged row is an error, not a shorter conversation.
func TestDamagedMessageIsAnError(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	for n := range 3 {
		require.Value(s.Accept(t.Context(), message("a", n), chat.JoinRule{}))(t)
	}
	direct(t, s, `UPDATE memories SET content = '{"thought":' WHERE turn = 2`)
	for _, limit := range []int{10, mostKept + 1} {
		if all, err := s.Recent(t.Context(), "a", chat.Said, 0, limit); err == nil {
			t.Errorf("the last %d are %v", limit, all)
		}
	}
}
