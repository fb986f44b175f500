package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// RestoredNote is the name of the note that a restored store has until its owner confirms that schedules and reminders
// can continue. It contains the time of the restore.
const RestoredNote = "store/restored"

// ErrIncomplete is returned by [Restore] if deletions were made since the backup that are no longer recorded.
var ErrIncomplete = errors.New("deletions that were made since this backup are no longer recorded")

// RestoreOptions configure a restore.
type RestoreOptions struct {
	Drop       []string // notes whose names begin with one of these are not restored: places in streams that have moved on
	Incomplete bool     // restore even if not all deletions since the backup can be repeated
}

// Restored describes what [Restore] did.
type Restored struct {
	Copied
	Runs      int    // that had not ended, and never will
	Deletions int    // that were repeated
	Replaced  string // where the earlier store is now; "" for none
}

// Restore puts a copy of the backup at from in the place of the store at to, which no gateway uses meanwhile: otherwise it
// returns [*InUseError]. Everything is done to the copy first, so an error leaves the store as it was. The store gets a new
// id, which makes everything obsolete that others keep for the earlier one.
func Restore(ctx context.Context, from, to string, o RestoreOptions) (r Restored, err error) {
	from, err = existing(from)
	if err != nil {
		return r, err
	}
	if to, err = resolve(to); err != nil {
		return r, err
	}
	if from == to {
		return r, fmt.Errorf("%s is the store itself; name a backup of it", from)
	}
	const next = "restore another backup"
	if err := recognize(ctx, from); err != nil {
		return r, afterDamage(err, next)
	}
	held, err := acquire(to)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	temp, err := tempFor(to)
	if err != nil {
		return r, err
	}
	defer func() {
		for _, ending := range []string{"", "-wal", "-shm", "-journal", ".lock"} {
			if gone := os.Remove(temp + ending); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}()
	if r.Copied, err = copyChecked(ctx, from, temp); err == nil {
		err = r.prepare(ctx, temp, to, o)
	}
	if err == nil {
		err = syncFile(temp)
	}
	if err == nil {
		r.Replaced, err = replace(ctx, os.Link, to, temp)
	}
	if errors.Is(err, ErrIncomplete) || err == nil {
		return r, err
	}
	return r, afterDamage(writing(from, to, err), next)
}

// prepare makes the copy at temp ready to become the store at to.
func (r *Restored) prepare(ctx context.Context, temp, to string, o RestoreOptions) error {
	s, err := Open(ctx, temp, Options{Unrecorded: true})
	if err != nil {
		return err
	}
	err = s.write(ctx, func(ctx context.Context, tx *conn) (err error) {
		r.Runs, err = endAll(ctx, tx)
		return err
	})
	var last int64
	if err == nil {
		last, err = r.repeatDeletions(ctx, s, to, o.Incomplete)
	}
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *conn) error { return settle(ctx, tx, last, o.Drop) })
	}
	if err == nil {
		_, err = s.checkpoint(ctx)
	}
	return errors.Join(err, s.Close())
}

// endAll ends all runs, without a word to the users: their requests have been answered since, or are long over. It
// returns how many there were.
func endAll(ctx context.Context, tx *conn) (runs int, err error) {
	for i, statement := range []string{
		`UPDATE runs SET status = 'stopped', parked = 0, ending = '', continuation = '' WHERE status = ''`,
		`UPDATE questions SET expires = 0 WHERE carrier = '' AND expires > 0`,
		`UPDATE approvals SET decision = 'stopped' WHERE decision IN ('pending', 'approved')`,
		`DELETE FROM owners`,
		`DELETE FROM windows`,
	} {
		n, err := tx.ExecContext(ctx, statement)
		if err != nil {
			return 0, err
		}
		if i == 0 {
			runs = n
		}
	}
	return runs, nil
}

// repeatDeletions makes the deletions again that are recorded next to the store at to and that s does not contain. It
// returns the number of the last one.
func (r *Restored) repeatDeletions(ctx context.Context, s *Store, to string, incomplete bool) (last int64, err error) {
	all, _, err := readTombstones(to + tombstoneEnding)
	if err != nil {
		return 0, err
	}
	var has int64
	if err := s.read(ctx, func(db *conn) (err error) { has, err = storedSeq(ctx, db); return err }); err != nil {
		return 0, err
	}
	if last = has; len(all) > 0 && all[0].Seq > has+1 && !incomplete {
		return 0, ErrIncomplete
	}
	for _, t := range all {
		if t.Seq <= has {
			continue
		}
		if err := s.repeat(ctx, t); err != nil {
			return 0, fmt.Errorf("repeating a deletion of %s: %w", t.At.Format(time.RFC3339), err)
		}
		last = max(last, t.Seq)
		r.Deletions++
	}
	return last, nil
}

// settle makes a store of a copy: with an id of its own, and without what only the earlier store could use.
func settle(ctx context.Context, tx *conn, seq int64, drop []string) error {
	for _, prefix := range drop {
		if _, err := tx.ExecContext(ctx, `DELETE FROM notes WHERE substr(name, 1, length(?1)) = ?1`, prefix); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE identity SET id = lower(hex(randomblob(8)))`); err != nil {
		return err
	}
	if seq > 0 {
		if err := storeSeq(ctx, tx, seq); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `REPLACE INTO notes (name, value) VALUES (?, ?)`, RestoredNote, time.Now().UTC().Format(time.RFC3339))
	return err
}

// replace gives the file temp the name of the store, and the store another name, which it returns. The write-ahead log of
// the store must go before: SQLite would apply it to the new file. On file systems without links, the name is free for a moment.
func replace(ctx context.Context, link func(from, to string) error, store, temp string) (replaced string, err error) {
	if _, found := os.Stat(store); found == nil {
		replaced = fmt.Sprintf("%s.replaced-%s", store, time.Now().UTC().Format("20060102T150405.000"))
		// Closing the last connection moves the log into the file. A damaged store keeps its log, under its new name.
		_ = onceIn(ctx, store, func(*conn) error { return nil })
		undo := func() error { return os.Remove(replaced) }
		if link(store, replaced) != nil {
			if err := os.Rename(store, replaced); err != nil {
				return "", err
			}
			undo = func() error { return os.Rename(replaced, store) }
		}
		for _, ending := range []string{"-wal", "-shm"} {
			if err := os.Rename(store+ending, replaced+ending); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", errors.Join(err, undo())
			}
		}
	}
	if err := os.Rename(temp, store); err != nil {
		return "", err
	}
	return replaced, syncDir(filepath.Dir(store))
}
