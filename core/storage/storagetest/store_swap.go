package storagetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// KeptStore keeps values under names.
type KeptStore interface {
	Keep(ctx context.Context, name, value string) error
	Kept(ctx context.Context, name string) (string, error)
	Swap(ctx context.Context, name, old, value string) (bool, error)
}

// Kept tests a store of values under names: a value is swapped only for the one that is expected, by one of many at the same time.
func Kept(t *testing.T, s KeptStore) {
	swap := func(old, value string, want bool, now string) {
		t.Helper()
		done, err := s.Swap(t.Context(), "login", old, value)
		kept, unread := s.Kept(t.Context(), "login")
		if done != want || err != nil || kept != now || unread != nil {
			t.Errorf("swapping %q for %q returned %v, %v and left %q, %v; want %v and %q", value, old, done, err, kept, unread, want, now)
		}
	}
	swap("one", "two", false, "")
	swap("", "one", true, "one")
	swap("", "two", false, "one")
	swap("two", "three", false, "one")
	swap("one", "two", true, "two")
	swap("two", "", true, "")
	swap("", "four", true, "four")
	if err := s.Keep(t.Context(), "login", "five"); err != nil {
		t.Error(err)
	}
	swap("five", "six", true, "six")
	if done, err := s.Swap(t.Context(), "login", "six", "\xff"); done || err == nil {
		t.Errorf("an invalid value: %v, %v; want an error", done, err)
	}
	var work sync.WaitGroup
	won := make(chan string, 8)
	for n := range cap(won) {
		work.Go(func() {
			mine := fmt.Sprint("gateway ", n)
			if done, err := s.Swap(t.Context(), "login", "six", mine); err != nil {
				t.Error(err)
			} else if done {
				won <- mine
			}
		})
	}
	work.Wait()
	if len(won) != 1 {
		t.Fatalf("%d swapped the same value; want one", len(won))
	}
	swap(<-won, "end", true, "end")
}
