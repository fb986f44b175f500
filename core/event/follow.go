package event

import (
	"context"
	"fmt"
	"runtime/debug"

	"parley/core/answer"
)

// mostFollowed is how many answers an observer may be behind with before it misses some.
const mostFollowed = 64

// Follow reports the growth of a to the observers. It never blocks.
func (h *Hub) Follow(info RunInfo, a *answer.Answer) {
	for _, l := range h.listeners {
		o, ok := l.Observer.(AnswerObserver)
		if !ok {
			continue
		}
		if l.following.Add(1) > mostFollowed {
			l.following.Add(-1)
			l.miss()
			continue
		}
		h.following.Go(func() {
			defer l.following.Add(-1)
			f := follower{listener: l, observer: o, info: info, step: -1}
			f.follow(a)
		})
	}
}

// follower tells one observer of one answer.
type follower struct {
	*listener
	observer AnswerObserver
	info     RunInfo
	step     int // that was added last
}

// follow returns when the answer has ended, or goes on elsewhere.
func (f *follower) follow(a *answer.Answer) {
	var at answer.Cursor
	for a.Wait(context.Background(), at) == nil { // every answer that is made here ends or is abandoned
		var steps []answer.Step
		var v answer.View
		steps, v, at = a.StepsSince(at)
		for _, s := range steps {
			f.emit(s)
		}
		if v.At > 0 {
			f.deliver(MessagesChanged{RunInfo: f.info, View: v.Copied()})
		}
	}
}

func (f *follower) emit(s answer.Step) {
	switch {
	case s.Kind == answer.Ended:
		return
	case s.Call == "" || s.Kind == answer.ToolStage && s.Tool.Stage == answer.StageStart:
		f.add(s.Step)
	case f.step < 0:
		f.add(0)
	}
	switch {
	case s.Kind == answer.Text && s.Call == "":
		f.deliver(ContentUpdated{RunInfo: f.info, Step: s.Step, Chunk: s.Text, Accumulated: s.Whole})
	case s.Tool != nil:
		t := *s.Tool
		if t.Stage == answer.StageStreaming {
			t.Parameters = s.Whole
		}
		f.deliver(ToolUpdated{RunInfo: f.info, ToolBlock: answer.BlockOf(s.Call, t, s.NewFiles)})
	}
}

// add tells of a round's beginning, once.
func (f *follower) add(step int) {
	if step != f.step {
		f.step = step
		f.deliver(MessageAdded{RunInfo: f.info, Step: step})
	}
}

// deliver is one call. A panic is the observer's own.
func (f *follower) deliver(e AnswerEvent) {
	defer func() {
		if p := recover(); p != nil {
			f.log.Error("an observer panicked", "observer", fmt.Sprintf("%T", f.observer), "event", fmt.Sprintf("%T", e),
				"panic", p, "stack", string(debug.Stack()))
		}
	}()
	f.observer.ObserveAnswer(e)
}
