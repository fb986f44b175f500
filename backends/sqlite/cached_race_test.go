package sqlite

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"parley/core/chat"
)

// What is read while others write is never older than what was written before the read began. The audit compares each hit.
func TestReadsWhileOthersWrite(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	var wg sync.WaitGroup
	for r := range 4 {
		room := chat.RoomID(fmt.Sprint("room", r))
		wg.Go(func() {
			for n := range 60 {
				in := message(room, n)
				if _, err := s.Accept(t.Context(), in, chat.JoinRule{NoRun: true}); err != nil {
					t.Error(err)
				}
				if n%7 == 6 {
					if err := s.Forget(t.Context(), in.ID); err != nil {
						t.Error(err)
					}
					continue
				}
				all, err := s.Recent(t.Context(), room, chat.Said, 0, 20)
				if err != nil || len(all) == 0 || all[len(all)-1].ID != in.ID {
					t.Errorf("message %d of %s is not the last that is read: %v", n, room, err)
				}
			}
		})
		for range 2 {
			wg.Go(func() {
				for range 200 {
					if _, err := s.Recent(t.Context(), room, chat.Said, 0, 20); err != nil {
						t.Error(err)
					}
					if _, err := s.Room(t.Context(), room); err != nil && !errors.Is(err, chat.ErrNotFound) {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
}
