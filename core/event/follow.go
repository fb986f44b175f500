package event

import (
	"context"

	"parley/core/answer"
)

// mostFollowed is the maximum number of answers that an observer can be behind before it misses some.
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

// follower reports one answer to one observer.
type follower struct {
	*listener
	observer AnswerObserver
	info     RunInfo
	step     int // the last reported step
}

// follow returns when the answer has ended or was abandoned.
func (f *follower) follow(a *answer.Answer) {
	var at answer.Cursor
	for a.Wait(context.Background(), at) == nil { // every answer held in this process ends or is abandoned
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
	case s.Kind == answer.Ended, s.Kind == answer.Thinking, s.Kind == answer.Reasoning: // observers see what is answered
		return
	case s.Call == "" || s.Kind == answer.ToolStage && s.Tool.Stage == answer.StageStart:
		f.add(s.Step)
	case f.step < 0:
		f.add(0)
	}
	switch {
	case s.Kind == answer.Withdrawn, s.Kind == answer.Text && s.Call == "" && !s.Notice: // withdrawn: nothing has accumulated
		f.deliver(ContentUpdated{RunInfo: f.info, Step: s.Step, Chunk: s.Text, Accumulated: s.Whole})
	case s.Tool != nil:
		t := *s.Tool
		if t.Stage == answer.StageStreaming {
			t.Parameters = s.Whole
		}
		f.deliver(ToolUpdated{RunInfo: f.info, ToolBlock: answer.BlockOf(s.Call, t, s.NewFiles)})
	}
}

// add reports the beginning of a round, once.
func (f *follower) add(step int) {
	if step != f.step {
		f.step = step
		f.deliver(MessageAdded{RunInfo: f.info, Step: step})
	}
}

// deliver calls the observer and recovers its contain.
func (f *follower) deliver(e AnswerEvent) {
	observe(f.log, f.observer, e, func() { f.observer.ObserveAnswer(e) })
}
