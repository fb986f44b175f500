package storagetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

func markChecks() []storeCheck {
	return []storeCheck{
		{"a deleted message is still recognized (IN-17)", markForgotten},
		{"messages of a cleared room are still recognized (IN-17)", markCleared},
		{"a deleted message is attached to its open run (IN-16)", markOpenRun},
		{"an event without a memory is marked once (IN-17)", markOnce},
		{"concurrent marks of one event are one", markAtOnce},
		{"marks expire by age (IN-17)", markExpires},
		{"all old marks expire, however many there are", markManyExpire},
	}
}

// known is what in is known as.
func (s store) known(in chat.Message) chat.Accepted {
	s.t.Helper()
	acc := require.Value(s.Known(s.t.Context(), in.Memory))(s.t)
	return acc
}

// expire removes the marks that are older than age.
func (s store) expire(age time.Duration) (steps int) {
	s.t.Helper()
	for more := true; more; steps++ {
		var err error
		more, err = s.Expire(s.t.Context(), chat.Expiry{Marks: time.Now().Add(-age)})
		s.must(err)
	}
	return steps
}

func markForgotten(t *testing.T, s store) {
	in, remark := message("room", 1), message("room", 2)
	acc := s.accept(in, alone)
	r := s.start(acc.Run, "owner")
	s.finish(r, answerOf(r, "the answer"))
	heard := s.accept(remark, chat.JoinRule{NoRun: true})
	for range 2 {
		for _, id := range []chat.MemoryID{in.ID, remark.ID, answerOf(r, "").ID} {
			s.must(s.Forget(t.Context(), id))
		}
	}
	acc.Run, acc.Duplicate, heard.Duplicate = "", true, true
	for in, want := range map[*chat.Message]chat.Accepted{&in: acc, &remark: heard} {
		s.same("known", s.known(*in), want)
		in.Text = "whatever it says now"
		s.same("accepted again", s.accept(*in, alone), want)
		_, err := s.Memory(t.Context(), in.ID)
		s.fails(err, chat.ErrNotFound)
	}
	if next := s.accept(message("room", 3), alone); next.Response != 3 {
		t.Errorf("the next turn is %d; want 3", next.Response)
	}
	_, err := s.Known(t.Context(), answerOf(r, ""))
	s.fails(err, chat.ErrNotFound)
}

func markCleared(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.must(s.Ask(t.Context(), question(r, "q")))
	press := require.Value(s.Choose(t.Context(), "q", 0, pick("press"), "ada"))(s.t)
	carrier := s.start(press.Run, "owner")
	s.finish(r, answerOf(r, "the answer"))
	s.finish(carrier, chat.Memory{})
	other := s.accept(message("other", 1), alone)
	require.Value(s.Clear(t.Context(), "room"))(s.t)
	s.same("the message", s.known(message("room", 1)), chat.Accepted{Memory: "room/1", Response: 1, Duplicate: true})
	acc := require.Value(s.Known(t.Context(), pick("press")))(s.t)
	s.same("the choice", acc, chat.Accepted{Memory: "press", Response: 2, Duplicate: true})
	s.must(s.Ask(t.Context(), question(r, "again")))
	acc = require.Value(s.Choose(t.Context(), "again", 0, pick("press"), "ada"))(s.t)
	s.same("chosen again", acc, chat.Accepted{Memory: "press", Response: 2, Duplicate: true})
	other.Duplicate = true
	s.same("the memories of other rooms", s.known(message("other", 1)), other)
}

func markOpenRun(t *testing.T, s store) {
	in := message("room", 1)
	want := s.accept(in, alone)
	want.Duplicate = true
	require.Value(s.Clear(t.Context(), "room"))(s.t)
	s.same("accepted again", s.accept(in, alone), want)
	s.same("the inputs", s.runOf(want).Inputs, []chat.MemoryID{})
	r := s.start(want.Run, "owner")
	s.finish(r, chat.Memory{})
	want.Run = ""
	s.same("accepted again after the end", s.accept(in, alone), want)
}

func markOnce(t *testing.T, s store) {
	s.opened("room", 1)
	for n, want := range []chat.Accepted{{Memory: "stop", Response: 1}, {Memory: "stop", Response: 1, Duplicate: true}} {
		acc := require.Value(s.Mark(t.Context(), "room", "stop"))(s.t)
		s.same(fmt.Sprintf("mark %d", n), acc, want)
		s.opened("room", n+2)
	}
	again := message("room", 9)
	again.ID = "stop"
	s.same("accepted as a message", s.accept(again, alone), chat.Accepted{Memory: "stop", Response: 1, Duplicate: true})
	acc := require.Value(s.Mark(t.Context(), "room", "room/1"))(s.t)
	if acc.Run == "" || !acc.Duplicate {
		t.Errorf("the mark of a stored message is %+v; want a duplicate with its run", acc)
	}
	acc = require.Value(s.Mark(t.Context(), "never seen", "elsewhere"))(s.t)
	s.same("in an unknown room", acc, chat.Accepted{Memory: "elsewhere"})
}

func markAtOnce(t *testing.T, s store) {
	s.opened("room", 1)
	var mu sync.Mutex
	firsts := 0
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			acc, err := s.Mark(t.Context(), "room", "stop")
			if err != nil || acc.Response != 1 {
				t.Error(acc, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !acc.Duplicate {
				firsts++
			}
		})
	}
	wg.Wait()
	s.same("the number of first deliveries", firsts, 1)
}

func markExpires(t *testing.T, s store) {
	s.opened("room", 1)
	s.opened("room", 2)
	s.must(s.Forget(t.Context(), "room/1"))
	time.Sleep(time.Hour)
	_, err := s.Mark(t.Context(), "room", "stop")
	s.must(err)
	time.Sleep(time.Hour)
	s.expire(90 * time.Minute)
	_, err = s.Known(t.Context(), message("room", 1).Memory)
	s.fails(err, chat.ErrNotFound)
	_, err = s.Known(t.Context(), chat.Memory{ID: "stop", Room: "room"})
	s.must(err)
	if acc := s.known(message("room", 2)); acc.Run == "" {
		t.Errorf("a stored message is known as %+v; want its run", acc)
	}
	s.expire(time.Minute)
	_, err = s.Known(t.Context(), chat.Memory{ID: "stop", Room: "room"})
	s.fails(err, chat.ErrNotFound)
}

func markManyExpire(t *testing.T, s store) {
	const old, fresh = 2300, 300
	var wg sync.WaitGroup
	for n := range old {
		wg.Go(func() {
			_, err := s.Mark(t.Context(), "room", chat.MemoryID(fmt.Sprint("old ", n)))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	time.Sleep(time.Hour)
	for n := range fresh {
		require.Value(s.Mark(t.Context(), "room", chat.MemoryID(fmt.Sprint("fresh ", n))))(s.t)
	}
	if steps := s.expire(time.Minute); steps > 10 {
		t.Errorf("expiry took %d steps; want at most 10", steps)
	}
	for n := range old {
		_, err := s.Known(t.Context(), chat.Memory{ID: chat.MemoryID(fmt.Sprint("old ", n)), Room: "room"})
		s.fails(err, chat.ErrNotFound)
	}
	for n := range fresh {
		require.Value(s.Known(t.Context(), chat.Memory{ID: chat.MemoryID(fmt.Sprint("fresh ", n)), Room: "room"}))(s.t)
	}
}
