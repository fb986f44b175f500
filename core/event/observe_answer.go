package event

import "parley/core/answer"

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
