package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"parley/core/chat"
)

// DI-16: while the disk is full nothing is accepted and the store says so; with space it goes on as before.
func TestStoreSaysThatTheDiskIsFull(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	var pages int
	if err := s.writer.QueryRow(`PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		t.Helper()
		if err := s.writer.QueryRow(fmt.Sprintf(`PRAGMA max_page_count = %d`, n)).Scan(new(int)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages)
	large := message("room", 1)
	large.Text = strings.Repeat("full ", 10_000)
	_, err := s.Accept(t.Context(), large, chat.JoinRule{})
	if reason, ok := Unavailable(err); !ok || reason != diskFull {
		t.Errorf("on a full disk: %v", err)
	}
	if reason, ok := Unavailable(s.Ping(t.Context())); !ok || reason != diskFull {
		t.Errorf("it says of itself: %v", s.Ping(t.Context()))
	}
	limit(pages + 1000)
	if _, err := s.Accept(t.Context(), large, chat.JoinRule{}); err != nil {
		t.Errorf("with space: %v", err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("with space it says: %v", err)
	}
}

func TestUnavailable(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, errors.New("some"): false, ErrClosed: false, &InUseError{}: false, fs.ErrPermission: false,
		fmt.Errorf("open: %w", &fs.PathError{Err: syscall.ENOSPC}): true, syscall.EDQUOT: true, syscall.EIO: true,
	} {
		if reason, ok := Unavailable(err); ok != want || ok == (reason == "") {
			t.Errorf("%v: %q, %v", err, reason, ok)
		}
	}
}
