package storagetest

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/relay"

	"github.com/google/go-cmp/cmp"
)

// Bus tests the contract of [relay.Bus], and additionally that a reader who keeps up misses nothing while no connection
// fails. newReplicas returns n connected buses, and registers their cleanup.
func Bus(t *testing.T, newReplicas func(t *testing.T, n int) []relay.Bus) {
	stories := []struct {
		name string
		tell func(*testing.T, buses)
	}{
		{"all subscribers receive each frame", everybodyHears},
		{"frames arrive in the publisher's order", inOrder},
		{"rooms are separate", roomsApart},
		{"a late subscriber receives no earlier frame", nothingRetained},
		{"slow subscribers lose frames", slowReader},
		{"a done context closes the subscription", doneCloses},
		{"a subscriber leaves and the others stay", othersStay},
		{"frames arrive unchanged", framesExact},
		{"a frame without subscribers is dropped", noListeners},
	}
	for _, n := range []int{1, 3} {
		for _, s := range stories {
			t.Run(fmt.Sprintf("%s/%d", s.name, n), func(t *testing.T) { s.tell(t, newReplicas(t, n)) })
		}
	}
}

// buses are asked in turn, as replicas are.
type buses []relay.Bus

func (b buses) at(i int) relay.Bus { return b[i%len(b)] }

func (b buses) subscribe(t *testing.T, ctx context.Context, i int, room chat.RoomID) <-chan relay.Frame {
	t.Helper()
	ch, err := b.at(i).Subscribe(ctx, room)
	if err != nil {
		t.Fatalf("subscribe to %s: %v", room, err)
	}
	return ch
}

func (b buses) publish(t *testing.T, i int, room chat.RoomID, f relay.Frame) {
	t.Helper()
	if err := b.at(i).Publish(t.Context(), room, f); err != nil {
		t.Errorf("publish to %s: %v", room, err)
	}
}

// next is the next frame, and whether there is one.
func next(t *testing.T, ch <-chan relay.Frame) (relay.Frame, bool) {
	t.Helper()
	select {
	case f, ok := <-ch:
		return f, ok
	case <-patient():
		t.Fatal("no frame arrived; want one")
		return relay.Frame{}, false
	}
}

func heard(t *testing.T, ch <-chan relay.Frame, want relay.Frame) {
	t.Helper()
	got, ok := next(t, ch)
	if !ok {
		t.Fatal("the subscription was closed without a fault; want it open")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("heard something else (-want +got):\n%s", d)
	}
}

func numbered(run chat.RunID, i int) relay.Frame {
	return relay.Frame{Run: run, From: answer.Cursor(i)}
}

func everybodyHears(t *testing.T, b buses) {
	var readers []<-chan relay.Frame
	for i := range 2 * len(b) {
		readers = append(readers, b.subscribe(t, t.Context(), i, "room"))
	}
	for i := range b {
		b.publish(t, i, "room", numbered("run", i))
		for _, ch := range readers {
			heard(t, ch, numbered("run", i))
		}
	}
}

// inOrder has each replica publish at once with the others: each one's own order is kept.
func inOrder(t *testing.T, b buses) {
	const frames = 500
	for i := range b {
		ch := b.subscribe(t, t.Context(), i, "room")
		var wg sync.WaitGroup
		for p := range b {
			wg.Go(func() {
				for n := range frames {
					b.publish(t, p, "room", numbered(chat.RunID(fmt.Sprint(p)), n))
				}
			})
		}
		ascending(t, ch, frames-1)
		wg.Wait()
	}
}

// ascending reads until a frame with the cursor last arrives.
func ascending(t *testing.T, ch <-chan relay.Frame, last answer.Cursor) (frames int) {
	t.Helper()
	at := map[chat.RunID]answer.Cursor{}
	for {
		f, ok := next(t, ch)
		if !ok {
			t.Fatal("the subscription was closed without a fault; want it open")
		}
		frames++
		if before, seen := at[f.Run]; seen && f.From <= before {
			t.Fatalf("publisher %s: %d after %d", f.Run, f.From, before)
		}
		at[f.Run] = f.From
		if f.From == last {
			return frames
		}
	}
}

func roomsApart(t *testing.T, b buses) {
	rooms := []chat.RoomID{"a", "a/b", "{a}", "*", ""}
	readers := map[chat.RoomID]<-chan relay.Frame{}
	for i, room := range rooms {
		readers[room] = b.subscribe(t, t.Context(), i, room)
	}
	for i, room := range rooms {
		b.publish(t, i, room, relay.Frame{Run: "run/" + chat.RunID(room)})
		b.publish(t, i, room, relay.Frame{Run: "end/" + chat.RunID(room)})
	}
	for _, room := range rooms {
		heard(t, readers[room], relay.Frame{Run: "run/" + chat.RunID(room)})
		heard(t, readers[room], relay.Frame{Run: "end/" + chat.RunID(room)})
	}
}

func nothingRetained(t *testing.T, b buses) {
	witness := b.subscribe(t, t.Context(), 0, "room")
	b.publish(t, 0, "room", numbered("run", 1))
	heard(t, witness, numbered("run", 1))
	late := b.subscribe(t, t.Context(), 1, "room")
	b.publish(t, 0, "room", numbered("run", 2))
	heard(t, late, numbered("run", 2))
}

func slowReader(t *testing.T, b buses) {
	const frames = 2000
	slow := b.subscribe(t, t.Context(), 0, "room")
	brisk := b.subscribe(t, t.Context(), 0, "room")
	for i := range frames {
		b.publish(t, 1, "room", numbered("run", i))
		heard(t, brisk, numbered("run", i)) // a slow reader must not hold up the others
	}
	if n := ascending(t, slow, frames-1); n == frames {
		t.Errorf("a subscriber that slept received all %d frames; want some of them lost", frames)
	}
	b.publish(t, 1, "room", numbered("run", frames))
	heard(t, slow, numbered("run", frames))
}

func doneCloses(t *testing.T, b buses) {
	ctx, cancel := context.WithCancel(t.Context())
	ch := b.subscribe(t, ctx, 0, "room")
	b.publish(t, 1, "room", numbered("run", 1))
	heard(t, ch, numbered("run", 1))
	cancel()
	if f, ok := next(t, ch); ok {
		t.Errorf("heard %v, want a closed channel", f)
	}
	b.publish(t, 0, "room", numbered("run", 2)) // must not panic
	again := b.subscribe(t, t.Context(), 0, "room")
	b.publish(t, 1, "room", numbered("run", 3))
	heard(t, again, numbered("run", 3))
}

func othersStay(t *testing.T, b buses) {
	ctx, cancel := context.WithCancel(t.Context())
	leaves, stays := b.subscribe(t, ctx, 0, "room"), b.subscribe(t, t.Context(), 0, "room")
	cancel()
	for ok := true; ok; {
		_, ok = next(t, leaves)
	}
	b.publish(t, 1, "room", numbered("run", 1))
	heard(t, stays, numbered("run", 1))
}

func framesExact(t *testing.T, b buses) {
	ch := b.subscribe(t, t.Context(), 0, "room")
	for _, f := range everyFrame() {
		b.publish(t, 1, "room", f)
		heard(t, ch, f)
	}
}

func noListeners(t *testing.T, b buses) {
	for i := range 1000 {
		b.publish(t, i, chat.RoomID(fmt.Sprintf("room/%d", i)), numbered("run", i))
	}
}

// everyFrame holds every kind of change, with all that its fields may say.
func everyFrame() []relay.Frame {
	tool := answer.Tool{
		Name: "SEARCH", Stage: answer.StageEnd, Parameters: `{"q":"<a&b>"}`, ParametersChunk: `b>"}`,
		Result: "two\nlines", ShortResult: "one line", Success: true, Error: "It was not found.",
	}
	changes := []answer.Change{
		{End: 7, Kind: answer.Text, Step: 2, Text: "¿<b>\u2028 \x00\\\"é😀"},
		{End: 8, Kind: answer.Callback, Call: "call-1", Text: "half way"},
		{End: 9, Kind: answer.Callback, Call: "call-1"},
		{End: math.MaxUint64, Kind: answer.Ended, Outcome: &answer.Outcome{Status: answer.Failed, Failure: llm.RateLimited, Withdrawn: true}},
	}
	for _, s := range []answer.Stage{answer.StageStart, answer.StageStreaming, answer.StageRunning, answer.StageEnd} {
		at := tool
		at.Stage = s
		changes = append(changes, answer.Change{End: 10, Kind: answer.ToolStage, Call: "call-1", Tool: &at})
	}
	all := []relay.Frame{{Run: "asks"}, {Run: "all", Epoch: 3, From: math.MaxUint64, Changes: changes}}
	for _, s := range []answer.Status{answer.Completed, answer.Ignored, answer.Superseded, answer.Stopped, answer.Failed, answer.TimedOut} {
		all = append(all, relay.Frame{Run: "ended", Changes: []answer.Change{{End: 1, Kind: answer.Ended, Outcome: &answer.Outcome{Status: s}}}})
	}
	return all
}
