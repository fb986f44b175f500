package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/backends/record"
	"parley/core/chat"
	"parley/internal/require"
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

// The audit of other tests reports a cache that is wrong.
func TestAuditReportsAWrongCache(t *testing.T) {
	var reported error
	s := require.Value(Open(t.Context(), migrated(t, "parley.db"), Options{Audit: func(err error) { reported = err }}))(t)
	defer s.Close()
	require.Value(s.Accept(t.Context(), message("a", 1), chat.JoinRule{NoRun: true}))(t)
	for _, of := range []struct {
		subject subject
		wrong   value
		read    func() error
	}{
		{subject{cachedRooms, "a", ""}, cachedRoom{chat.Room{ID: "a"}}, func() error { _, err := s.Room(t.Context(), "a"); return err }},
		{subject{cachedAttention, "a", ""}, attention("muted"), func() error { _, err := s.Attention(t.Context(), "a"); return err }},
		{subject{cachedAttention, "nowhere", ""}, attention(""), func() error { _, err := s.Attention(t.Context(), "nowhere"); return err }},
		{subject{cachedEntities, "ada", ""}, cachedEntity{chat.Entity{ID: "ada"}}, func() error { _, err := s.Entity(t.Context(), "ada"); return err }},
		{subject{cachedQuestions, "a", ""}, openQuestions{{ID: "q", Expires: time.Now().Add(time.Hour)}}, func() error { _, err := s.OpenQuestions(t.Context(), "a"); return err }},
		{subject{cachedNotes, "a", "fact"}, noteList{10, []chat.RoomNote{{Text: "fact"}}}, func() error { _, err := s.Notes(t.Context(), "a", chat.FactNote, 10); return err }},
		{subject{cachedMemories, "a", ""}, newHistory(nil, nil, true), func() error { _, err := s.Recent(t.Context(), "a", chat.Said, 0, 10); return err }},
	} {
		reported = nil
		if err := of.read(); err != nil && !errors.Is(err, chat.ErrNotFound) || reported != nil {
			t.Fatalf("%s: %v, %v", of.subject, err, reported)
		}
		s.cache.put(of.subject, s.cache.begin(of.subject), of.wrong)
		if err := of.read(); err != nil || reported == nil {
			t.Errorf("%s: %v; nothing is reported", of.subject, err)
		}
	}
}

// The audit does not report what is changed or dropped while it reads.
func TestAuditIgnoresWhatChangesMeanwhile(t *testing.T) {
	of := subject{cachedAttention, "a", ""}
	for name, meanwhile := range map[string]func(c *cache){
		"a commit":        func(c *cache) { c.committing([]change{{of: of}}); c.committed([]change{{of: of}}, true) },
		"part of one":     func(c *cache) { c.committing([]change{{of: of}}) },
		"another program": func(c *cache) { c.clear() },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, migrated(t, "parley.db")) // with an audit that fails the test
			read := func(context.Context, *conn) (value, error) { meanwhile(s.cache); return attention("muted"), nil }
			if err := s.checkHit(t.Context(), of, read); err != nil {
				t.Errorf("not cached: %v", err)
			}
			s.cache = newCache()
			s.cache.put(of, s.cache.begin(of), attention("ambient"))
			if err := s.checkHit(t.Context(), of, read); err != nil {
				t.Errorf("cached: %v", err)
			}
		})
	}
}

// Notes and questions that expire are not found any more, although nothing is written then.
func TestCachedNotesAndQuestionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, migrated(t, "parley.db"))
		require.Value(s.Accept(t.Context(), message("a", 1), chat.JoinRule{}))(t)
		in := time.Now().Add(time.Hour)
		for key, expires := range map[string]time.Time{"brief": in, "lasting": {}} {
			require.NoError(t, s.SaveNote(t.Context(), chat.RoomNote{Room: "a", Kind: chat.FactNote, Key: key, Text: key, At: time.Now(), Expires: expires}))
		}
		require.NoError(t, s.Ask(t.Context(), chat.Question{ID: "q", Room: "a", Run: "a#1", Expires: in}))
		counts := func() (facts, questions int) {
			all := seen(t, s)
			return len(all["facts of a"].([]chat.RoomNote)), len(all["questions of a"].([]chat.Question))
		}
		for range 2 {
			if facts, questions := counts(); facts != 2 || questions != 1 {
				t.Errorf("before: %d, %d; want 2 and 1", facts, questions)
			}
		}
		time.Sleep(time.Hour)
		if facts, questions := counts(); facts != 1 || questions != 0 {
			t.Errorf("after: %d, %d; want 1 and none", facts, questions)
		}
	})
}

// A canceled call and a closed store answer as they do without a cache.
func TestCacheOfAClosedStore(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	require.Value(s.Accept(t.Context(), message("a", 1), chat.JoinRule{}))(t)
	seen(t, s)
	ended, end := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	end(cause)
	if _, err := s.Room(ended, "a"); !errors.Is(err, cause) {
		t.Errorf("canceled: %v", err)
	}
	require.NoError(t, s.Close())
	if _, err := s.Room(t.Context(), "a"); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// A call whose context ends while the audit reads says nothing about the cache.
func TestAuditIgnoresTheEndOfACall(t *testing.T) {
	s := open(t, migrated(t, "parley.db"))
	require.Value(s.Accept(t.Context(), message("a", 1), chat.JoinRule{}))(t)
	seen(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.checkHit(ctx, subject{cachedRooms, "a", ""}, func(ctx context.Context, db *conn) (value, error) {
		cancel()
		r, err := record.ScanRoom(db.QueryRowContext(ctx, `SELECT `+record.RoomColumns+` FROM rooms WHERE id = 'a'`))
		return cachedRoom{r}, err
	})
	require.NoError(t, err)
}
