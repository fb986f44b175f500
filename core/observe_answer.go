package core

import (
	"context"
	"fmt"
	"runtime/debug"

	"parley/core/answer"
)

// AnswerObserver is an [Observer] that also hears how answers grow, on the process that makes them. Each answer has a
// goroutine of its own for it: the events of one answer come in order, those of several side by side. It hears all of
// them, however slow it is: what came meanwhile is joined. What it does, also a panic, changes nothing about the answer.
type AnswerObserver interface {
	ObserveAnswer(AnswerEvent)
}

// AnswerEvent is one step of an answer, for those who watch. The set is closed. Systems that come from the agent SDK know
// the events by these names:
//
//	MessageAdded     onAssistantMessageAdded
//	ContentUpdated   onAssistantContentUpdated
//	ToolUpdated      onToolBlockUpdated
//	MessagesChanged  onMessagesChange
type AnswerEvent interface{ answerEvent() }

type (
	// MessageAdded is a round of the model that begins to say something or to ask for an action. What the gateway says by
	// itself, such as why an answer is not whole, is one too.
	MessageAdded struct {
		RunInfo
		Step int
	}
	// ContentUpdated is text of a round: what was added, and all there is of it so far. Neither is a copy.
	ContentUpdated struct {
		RunInfo
		Step               int
		Chunk, Accumulated string
	}
	// ToolUpdated is a call that came to another stage, or to more parameters: then ParametersChunk was added.
	ToolUpdated struct {
		RunInfo
		answer.ToolBlock
	}
	// MessagesChanged says that a part of the answer began, ended or was replaced. It comes after what it is made of, and
	// never for text that only grows.
	MessagesChanged struct {
		RunInfo
		View answer.View
	}
)

func (MessageAdded) answerEvent()    {}
func (ContentUpdated) answerEvent()  {}
func (ToolUpdated) answerEvent()     {}
func (MessagesChanged) answerEvent() {}

// mostFollowed is how many answers an observer may be behind with before it misses some.
const mostFollowed = 64

// observe lets the observers hear how a grows. It waits for nobody.
func (rt *Runtime) observe(info RunInfo, a *answer.Answer) {
	for _, l := range rt.listeners {
		o, ok := l.Observer.(AnswerObserver)
		if !ok {
			continue
		}
		if l.following.Add(1) > mostFollowed {
			l.following.Add(-1)
			l.miss()
			continue
		}
		rt.following.Go(func() {
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
			f.deliver(MessagesChanged{f.info, v.Copied()})
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
		f.deliver(ContentUpdated{f.info, s.Step, s.Text, s.Whole})
	case s.Tool != nil:
		t := *s.Tool
		if t.Stage == answer.StageStreaming {
			t.Parameters = s.Whole
		}
		f.deliver(ToolUpdated{f.info, answer.BlockOf(s.Call, t, s.NewFiles)})
	}
}

// add tells of a round's beginning, once.
func (f *follower) add(step int) {
	if step != f.step {
		f.step = step
		f.deliver(MessageAdded{f.info, step})
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
