package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	native "zombiezen.com/go/sqlite"

	"parley/core/chat"
	"parley/internal/require"
)

// DI-16: while the disk is full nothing is accepted and the store says so; with space it goes on as before.
func TestStoreSaysThatTheDiskIsFull(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	var pages int
	require.NoError(t, s.writer.QueryRow(`PRAGMA page_count`).Scan(&pages))
	limit := func(n int) {
		t.Helper()
		require.NoError(t, s.writer.QueryRow(fmt.Sprintf(`PRAGMA max_page_count = %d`, n)).Scan(new(int)))
	}
	limit(pages)
	large := message("room", 1)
	large.Text = strings.Repeat("full ", 10_000)
	_, err := s.Accept(t.Context(), large, chat.JoinRule{})
	if reason, ok := Unavailable(err); !ok || reason != diskFull {
		t.Errorf("on a full disk: %v", err)
	}
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), diskFull) {
		t.Errorf("it says of itself: %v", err)
	} else if reason, ok := Unavailable(err); !ok || reason != diskFull {
		t.Errorf("the reason of %v is %q", err, reason)
	}
	limit(pages + 1000)
	if _, err := s.Accept(t.Context(), large, chat.JoinRule{}); err != nil {
		t.Errorf("with space: %v", err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("with space it says: %v", err)
	}
}

// Another program that locks the file is a reason to try again, also while the tables are upgraded, which uses another driver.
func TestStoreSaysThatTheFileIsLocked(t *testing.T) {
	path, o := migrated(t, "parley.db"), Options{BusyTimeout: time.Millisecond}
	s := require.Value(Open(t.Context(), path, o))(t)
	defer s.Close()
	upgrade := require.Value(connect(path, o))(t)
	defer upgrade.Close()
	other := require.Value(dial(path, Options{}))(t)
	defer other.Close()
	write := func() map[string]error {
		_, upgraded := upgrade.ExecContext(t.Context(), `DELETE FROM memories`)
		return map[string]error{"a write": s.SaveRoom(t.Context(), chat.Room{ID: "a"}), "an upgrade": upgraded}
	}
	mustExec(t, other, `BEGIN IMMEDIATE`)
	for what, err := range write() {
		if reason, ok := Unavailable(err); !ok || reason != "another program has locked the store" {
			t.Errorf("%s: %v, %q", what, err, reason)
		}
	}
	mustExec(t, other, `ROLLBACK`)
	for what, err := range write() {
		if err != nil {
			t.Errorf("%s afterwards: %v", what, err)
		}
	}
}

func TestUnavailable(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, errors.New("some"): false, ErrClosed: false, &InUseError{}: false, fs.ErrPermission: false,
		native.ResultConstraint.ToError(): false, native.ResultIOErrFsync.ToError(): true, native.ResultFull.ToError(): true,
		native.ResultBusy.ToError(): true, native.ResultLocked.ToError(): true,
		fmt.Errorf("open: %w", &fs.PathError{Err: syscall.ENOSPC}): true, syscall.EDQUOT: true, syscall.EIO: true,
	} {
		if reason, ok := Unavailable(err); ok != want || ok == (reason == "") {
			t.Errorf("%v: %q, %v", err, reason, ok)
		}
	}
}
