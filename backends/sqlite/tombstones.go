package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"parley/backends/record"
	"parley/backends/sqlstore"
	"parley/core/chat"
)

const (
	tombstoneEnding = ".tombstones"      // of the file, after the name of the store
	tombstoneNote   = "store/tombstones" // the note with the number of the last sqlstore.Tombstone that the store contains
	mostTombstones  = 4 << 20            // bytes; a longer file loses its older half
)

// tombstones is a file next to the store, one line of JSON for each deletion, oldest first. A restored backup repeats those
// that it doesn't contain: each transaction with a deletion also stores the number of its tombstone, so every copy of the
// store tells how far it came, however it was made. The file is never part of a backup. It is used within the turn of
// writes.
type tombstones struct {
	path string // "" records nothing
	last int64  // the number of the last one; 0 is unknown
	size int64
	most int64 // bytes
}

// add records t and that the store contains it. The line is on disk before the transaction is committed: a crash in
// between leaves a tombstone of a deletion that was asked for.
func (f *tombstones) add(ctx context.Context, tx *conn, t sqlstore.Tombstone) error {
	if f.path == "" {
		return nil
	}
	if f.last == 0 {
		if err := f.find(ctx, tx); err != nil {
			return err
		}
	}
	t.Seq, t.At = f.last+1, time.Now().UTC().Truncate(time.Second)
	line, err := json.Marshal(t)
	if err == nil && f.size > f.most {
		err = f.shorten()
	}
	if err == nil {
		err = f.append(append(line, '\n'))
	}
	if err != nil {
		return err
	}
	f.last = t.Seq
	return storeSeq(ctx, tx, t.Seq)
}

// find sets last and size. Numbers continue after those of the store and those of the file, which can belong to an earlier
// state of it.
func (f *tombstones) find(ctx context.Context, tx *conn) error {
	stored, err := storedSeq(ctx, tx)
	if err != nil {
		return err
	}
	all, size, err := readTombstones(f.path)
	if err != nil {
		return err
	}
	f.last, f.size = stored, size
	for _, t := range all {
		f.last = max(f.last, t.Seq)
	}
	return nil
}

// append writes a line to the end of the file, after a line break if a crash left half a line there.
func (f *tombstones) append(line []byte) error {
	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if f.size > 0 {
		end := make([]byte, 1)
		if _, err = file.ReadAt(end, f.size-1); err == nil && end[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	n := 0
	if err == nil {
		n, err = file.Write(line)
		f.size += int64(n)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// shorten drops the older half of the file.
func (f *tombstones) shorten() error {
	data, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	data = data[len(data)/2:]
	data = data[bytes.IndexByte(data, '\n')+1:]
	temp, err := tempFor(f.path)
	if err != nil {
		return err
	}
	if err = os.WriteFile(temp, data, 0o600); err == nil {
		err = syncFile(temp)
	}
	if err == nil {
		err = os.Rename(temp, f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	f.size = int64(len(data))
	return nil
}

// readTombstones returns the tombstones in a file, which can be missing, and its size. Lines that a crash cut off are
// left out.
func readTombstones(path string) (all []sqlstore.Tombstone, size int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		var t sqlstore.Tombstone
		if json.Unmarshal(lines.Bytes(), &t) == nil && t.Seq > 0 {
			all = append(all, t)
		}
	}
	return all, int64(len(data)), lines.Err()
}

// storedSeq returns the number of the last sqlstore.Tombstone that a store contains; 0 if there was none.
func storedSeq(ctx context.Context, tx *conn) (int64, error) {
	var text string
	err := record.Found(tx.QueryRowContext(ctx, `SELECT value FROM notes WHERE name = ?`, tombstoneNote).Scan(&text))
	if errors.Is(err, chat.ErrNotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

func storeSeq(ctx context.Context, tx *conn, seq int64) error {
	_, err := tx.ExecContext(ctx, `REPLACE INTO notes (name, value) VALUES (?, ?)`, tombstoneNote, strconv.FormatInt(seq, 10))
	return err
}

// repeat makes the deletion of t again.
func (s *Store) repeat(ctx context.Context, t sqlstore.Tombstone) (err error) {
	switch t.Kind {
	case sqlstore.MessageDeleted:
		err = s.Forget(ctx, chat.MemoryID(t.ID))
	case sqlstore.RoomCleared:
		_, err = s.Clear(ctx, chat.RoomID(t.ID))
	case sqlstore.ChatCleared:
		_, err = s.ClearEntirely(ctx, chat.RoomID(t.ID), chat.EntityID(t.Person))
	case sqlstore.PersonDeleted:
		for more := true; more && err == nil; {
			var d chat.PersonalDeletion
			d, err = s.DeletePersonal(ctx, chat.EntityID(t.ID))
			more = d.More
		}
	case sqlstore.AccessRevoked:
		err = chat.Unless(s.RemoveUser(ctx, chat.EntityID(t.ID)), chat.ErrNotFound)
	}
	return err
}
