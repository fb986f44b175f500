package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
)

// Writes that wait together share a transaction; one that fails, or panics, takes nothing from the others.
func TestWritesShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		insert := func(id string, then func() error) func(context.Context, *sql.Tx) error {
			return func(ctx context.Context, tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, `INSERT INTO owners (id, alive_until) VALUES (?, 0)`, id); err != nil {
					return err
				}
				return then()
			}
		}
		refuse := errors.New("refused")
		jobs := []func(context.Context, *sql.Tx) error{
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
			t.Errorf("stored is %q, %v", got, err)
		}
	})
}
