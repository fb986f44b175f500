package event

import "parley/core/answer"

// An AnswerObserver is an [Observer] that also receives the growth of answers, on the process that generates them. Each
// answer has its own goroutine: events of one answer arrive in order, those of several answers concurrently. A slow
// observer misses nothing: pending changes are merged. Its behavior, including panics, has no effect on the answer.
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
	// MessageAdded is emitted when a model round produces its first text or tool call. Text from the gateway, such as
	// why an answer is incomplete, also counts as a message.
	MessageAdded struct {
		RunInfo
		Step int
	}
	// ContentUpdated contains the added text of a round, and its whole text so far. Do not modify them.
	ContentUpdated struct {
		RunInfo
		Step               int
		Chunk, Accumulated string
	}
	// ToolUpdated is emitted when a call reaches another stage, or when parameters arrive: then ParametersChunk was
	// added.
	ToolUpdated struct {
		RunInfo
		answer.ToolBlock
	}
	// MessagesChanged is emitted when a part of the answer begins, ends or is replaced, after the events of the parts.
	// It is not emitted for growing text.
	MessagesChanged struct {
		RunInfo
		View answer.View
	}
)

func (MessageAdded) answerEvent()    {}
func (ContentUpdated) answerEvent()  {}
func (ToolUpdated) answerEvent()     {}
func (MessagesChanged) answerEvent() {}
