package core_test

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/lang"
)

// DI-15, I10: a room that a user floods costs the others nothing, and rooms that are quiet again leave nothing behind.
func TestHotRoom(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		w.model.respond = func(llm.Request) []step { return []step{pause(10 * time.Second), write(fox)} }
		w.model.where = func(r llm.Request) chat.RoomID { return chat.RoomID(r.Messages[len(r.Messages)-1].Text) }
		n := w.start()
		idle := goroutines()
		var flood sync.WaitGroup
		for range 30 {
			m := w.message(room, "ada", string(room))
			flood.Go(func() { n.sendConcurrently(m) })
		}
		var others []chat.Accepted
		for i := range 10 {
			in := fmt.Sprintf("fake/%d", i)
			others = append(others, n.send(w.message(chat.RoomID(in), "ada", in)))
		}
		flood.Wait()
		asked := time.Now()
		for _, acc := range others {
			w.wantAnswer(acc, answer.Completed, fox)
		}
		if took := time.Since(asked); took > 15*time.Second {
			w.Errorf("the others were answered after %v", took)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if now := goroutines(); now > idle {
			w.Errorf("%d goroutines are left of 11 rooms, beside the %d before", now-idle, idle)
		}
	})
}

// DI-15: 200 messages wait in a group, and answers in ten rooms of one person. They don't delay answers to other people,
// nor answers in another room to the person who wrote in the group. People in the group read why not each of their messages is answered.
func TestNoisyRoomDelaysNoOther(t *testing.T) {
	withConcurrentAnswers(t, func(w *harness, n *process) { // an answer takes a minute
		for range 200 {
			n.send(w.groupMention("ada", string(group)))
		}
		for i := range 10 {
			in := fmt.Sprintf("fake/eve/%d", i)
			n.send(w.message(chat.RoomID(in), "eve", in))
		}
		for _, who := range []chat.EntityID{"bob", "ada"} {
			in, asked := "fake/"+string(who), time.Now()
			w.wantAnswer(n.askIn(in, who), answer.Completed, "Done: "+in)
			if took := time.Since(asked); took > 90*time.Second {
				w.Errorf("%s waited %v", who, took)
			}
		}
		time.Sleep(12 * time.Minute) // until all are answered
		if !slices.Contains(w.chat.visible(), lang.Voice{}.Say("message.excuse")) {
			w.Errorf("people in the group read %q; want them to contain %q", w.chat.visible(), lang.Voice{}.Say("message.excuse"))
		}
	})
}

var bubble = regexp.MustCompile(`synctest bubble [0-9]+`)

// goroutines counts those of the caller's bubble: other tests may still be ending theirs.
func goroutines() int {
	stacks := make([]byte, 1<<22)
	stacks = stacks[:runtime.Stack(stacks, true)] // the caller comes first
	return bytes.Count(stacks, append(bubble.Find(stacks), ']'))
}

// sendConcurrently submits a message beside others.
func (n *process) sendConcurrently(m chat.Message) {
	acc, err := n.ProcessMessage(n.h.Context(), m)
	if err != nil || acc.Run == "" {
		n.h.Errorf("accepted as %+v, %v", acc, err)
	}
}
