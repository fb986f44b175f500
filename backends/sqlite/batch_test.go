package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/quota"
	"parley/internal/require"
	"parley/internal/subtest"
)

// Writes that wait together share a transaction; one that fails, or panics, takes nothing from the others.
func TestWritesShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), Options{})
		require.NoError(t, err)
		defer s.Close()
		insert := func(id string, then func() error) func(context.Context, *conn) error {
			return func(ctx context.Context, tx *conn) error {
				if _, err := tx.ExecContext(ctx, `INSERT INTO owners (id, alive_until) VALUES (?, 0)`, id); err != nil {
					return err
				}
				return then()
			}
		}
		refuse := errors.New("refused")
		jobs := []func(context.Context, *conn) error{
			insert("a", func() error { return nil }),
			insert("b", func() error { return refuse }),
			insert("c", func() error { panic("broken") }),
			insert("d", func() error { return nil }),
		}
		errs := make([]error, len(jobs))
		s.writes.turn <- struct{}{} // a commit in progress: all of them have to wait
		var wg sync.WaitGroup
		for i, do := range jobs {
			wg.Go(func() { errs[i] = s.write(t.Context(), do) })
			synctest.Wait()
		}
		<-s.writes.turn
		wg.Wait()
		if errs[0] != nil || !errors.Is(errs[1], refuse) || errs[2] == nil || errs[3] != nil {
			t.Errorf("the writes ended with %v", errs)
		}
		var got string
		err = s.readers.QueryRow(`SELECT group_concat(id, '') FROM (SELECT id FROM owners ORDER BY id)`).Scan(&got)
		if err != nil || got != "ad" {
			t.Errorf(`stored is %q, %v; want "ad"`, got, err)
		}
	})
}

// A transaction has a maximum of writes. It does not wait for more than there are.
func TestBatchIsBounded(t *testing.T) {
	w := &writes{jobs: make(chan *job, 2*batch)}
	for range batch + 3 {
		w.jobs <- &job{}
	}
	for _, want := range []int{batch, 5} { // the first of each is not in the queue
		if n := len(w.take(&job{})); n != want {
			t.Errorf("a batch has %d writes instead of %d", n, want)
		}
	}
	w.jobs <- &job{}
	close(w.jobs)
	if n := len(w.take(&job{})); n != 2 {
		t.Errorf("the last batch has %d writes; want 2", n)
	}
}

// A write that is done once more, because another one failed, still holds to its limits.
func TestReservationIsDoneOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := require.Value(Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), Options{}))(t)
		defer s.Close()
		charges := []quota.Charge{{Bucket: "a", Max: quota.Cost{Tokens: 10}}, {Bucket: "b", Max: quota.Cost{Tokens: 7}}}
		var got [2]int
		refuse := errors.New("refused")
		s.writes.turn <- struct{}{} // a commit in progress: all of them have to wait
		var wg sync.WaitGroup
		for _, do := range []func(){
			func() {
				got[0], _, _ = s.Reserve(t.Context(), "2026-01-01", quota.Reservation{Least: 1, Most: 5}, charges...)
			},
			func() {
				got[1], _, _ = s.Reserve(t.Context(), "2026-01-01", quota.Reservation{Least: 1, Most: 5}, charges...)
			},
			func() { _ = s.write(t.Context(), func(context.Context, *conn) error { return refuse }) },
		} {
			wg.Go(do)
			synctest.Wait()
		}
		<-s.writes.turn
		wg.Wait()
		if got != [2]int{5, 2} {
			t.Errorf("of 7 tokens, reserved are %v", got)
		}
		if spent, err := s.Spent(t.Context(), "2026-01-01", "a"); err != nil || spent.Tokens != 7 {
			t.Errorf("spent is %+v, %v", spent, err)
		}
	})
}

// A write that nothing waits for begins in a pause of the others, or after a while where there is none.
func TestSlowWritesWaitForAPause(t *testing.T) {
	for name, c := range map[string]struct {
		every, want time.Duration
	}{
		"a single write":          {time.Hour, quiet},
		"writes without a pause":  {quiet / 2, mostQuiet},
		"writes with many pauses": {2 * quiet, quiet},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			s := open(t, migrated(t, "parley.db"))
			write := func() {
				if err := s.write(t.Context(), func(context.Context, *conn) error { return nil }); err != nil {
					t.Error(err)
				}
			}
			ended, stop := make(chan time.Duration), make(chan struct{})
			write()
			begun := time.Now()
			go func() {
				err := s.writeSlowly(t.Context(), func(context.Context, *conn) error { return nil })
				if err != nil {
					t.Error(err)
				}
				ended <- time.Since(begun)
			}()
			var others sync.WaitGroup
			others.Go(func() {
				for {
					select {
					case <-time.After(c.every):
						write()
					case <-stop:
						return
					}
				}
			})
			if after := <-ended; after < c.want || after > c.want+quiet {
				t.Errorf("it was written after %v", after)
			}
			close(stop)
			others.Wait()
		}))
	}
	s := open(t, migrated(t, "parley.db"))
	s.writes.last.Store(time.Now().Add(time.Hour).UnixNano())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.writeSlowly(ctx, func(context.Context, *conn) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled, it returns %v", err)
	}
}
