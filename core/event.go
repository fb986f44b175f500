package core

import (
	"slices"
	"time"
)

// Event is something that happened, for those who watch: plugins, metrics, tests. The set is closed. Systems that
// come from elizaOS know the events by these names:
//
//	MessageReceived       MESSAGE_RECEIVED
//	VoiceMessageReceived  VOICE_MESSAGE_RECEIVED
//	RunStarted            RUN_STARTED
//	RunEnded              RUN_ENDED
//	RunTimeout            RUN_TIMEOUT
//
// A run ends with one [RunEnded] or one [RunTimeout], never both, whatever becomes of it: answered, ignored, stopped,
// superseded or failed. A run that the process loses before its end, by a shutdown or a crash, has neither until
// somebody has adopted it; its [RunStarted] then comes again, from there. What happens in the instant in which a process
// dies may be heard of by nobody: the journal knows it.
type Event interface{ event() }

type (
	// MessageReceived is a message that is safe, once, whether or not it gets an answer. Its run may have started by then.
	MessageReceived struct {
		Message  Message
		Accepted Accepted
	}
	// VoiceMessageReceived is the same of a message in which somebody speaks. There is no MessageReceived of it.
	VoiceMessageReceived struct {
		Message  Message
		Accepted Accepted
	}
	// RunStarted is a run that a process has taken on.
	RunStarted struct{ RunInfo }
	// RunEnded is a run that came to its end within its time.
	RunEnded struct {
		RunInfo
		RunEnd
	}
	// RunTimeout is a run that was cut off because its time was up. Its work has ended too.
	RunTimeout struct {
		RunInfo
		RunEnd
	}
)

func (MessageReceived) event()      {}
func (VoiceMessageReceived) event() {}
func (RunStarted) event()           {}
func (RunEnded) event()             {}
func (RunTimeout) event()           {}

// received is the event of m.
func received(m Message, acc Accepted) Event {
	if slices.ContainsFunc(m.Files, func(f File) bool { return f.Voice }) {
		return VoiceMessageReceived{m, acc}
	}
	return MessageReceived{m, acc}
}

// RunInfo says which run an event is about.
type RunInfo struct {
	Run     RunID
	Message MemoryID // the newest it answers
	Room    RoomID
	Entity  EntityID  // who wrote that message; empty if the store did not say in time
	Start   time.Time // when this process took it on
	Source  string    // the connector
}

// RunEnd says how a run ended.
type RunEnd struct {
	End      time.Time
	Duration time.Duration // since Start
	Status   Status
	Err      string // what people are told of a failure; the log has the cause
}

// Observer hears of events. Each has a goroutine and a queue of its own: one that is slow misses events, one that
// panics loses the one it had, and neither holds up anything else. Events of one run come in their order. Observe is
// called by one goroutine at a time. An Observer may be an [AnswerObserver] too.
type Observer interface {
	Observe(Event)
}
