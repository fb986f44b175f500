// Package agui has the wire format of AG-UI, versions 0.0.x and 1.0, as the web connector serves it. Its types are those of
// the package internal/agui.
package agui

import (
	"cmp"
	"fmt"
	"strings"

	"parley/connectors/web/dialect"
	"parley/core/answer"
	wire "parley/internal/agui"
)

// Encoder implements [dialect.Encoder]. The progress of an answer is an activity, which is replaced in place, and text that
// is withdrawn is a snapshot of the messages. Options end the run with an interrupt.
type Encoder struct {
	Thread, Run string         // the client's
	Version     string         // of the protocol; empty: 0.0.x
	Messages    []wire.Message // of the client, for snapshots
	State       bool           // the client's state is an object, to which the open options can be added
	ID          string         // of the answer; it begins the ids of its messages

	sent    string // text
	status  string
	open    string
	reasons bool // the open message is of reasoning
	parts   int  // begun
	calls   dialect.Calls
	out     dialect.Events
}

func (e *Encoder) add(v wire.Event) { e.out.Add(v) }

// Begin implements [dialect.Encoder].
func (e *Encoder) Begin(b []byte) []byte {
	e.add(wire.Event{Type: wire.RunStarted, ThreadID: e.Thread, RunID: e.Run, ProtocolVersion: e.Version})
	return e.out.Take(b)
}

// Skip implements [dialect.Encoder]. The calls in progress are part of this run again, because it has their ends.
func (e *Encoder) Skip(s dialect.State) {
	e.sent = s.Text
	for _, c := range s.Calls {
		if c.Done() {
			e.calls.Next(c)
		}
	}
}

// Encode implements [dialect.Encoder].
func (e *Encoder) Encode(b []byte, s dialect.State) []byte {
	sentence, failed := s.Failed()
	if failed {
		s.Text = ""
	}
	if s.Reasoning != "" {
		e.begin(true)
		e.add(wire.Event{Type: wire.ReasoningMessageContent, MessageID: e.open, Delta: dialect.Raw(s.Reasoning)})
	}
	if !strings.HasPrefix(s.Text, e.sent) && !failed {
		e.rewrite(s)
	}
	for _, c := range s.Calls {
		if _, begun := e.calls[c.ID]; !begun {
			e.text(s.Text[:min(c.At, len(s.Text))])
		}
		e.call(c)
	}
	e.text(s.Text)
	if line := s.Line(); line != e.status {
		e.status = line
		e.add(wire.Event{Type: wire.ActivitySnapshot, MessageID: e.ID + "/status", ActivityType: "STATUS", Content: dialect.Raw(map[string]string{"text": line})})
	}
	if s.Over() {
		e.end(s, sentence, failed)
	}
	return e.out.Take(b)
}

// rewrite replaces the messages of this answer by one with its text.
func (e *Encoder) rewrite(s dialect.State) {
	e.close()
	e.sent = s.Text
	e.parts++
	now := wire.Message{ID: e.part(), Role: dialect.Assistant, Content: dialect.Raw(s.Text)}
	e.add(wire.Event{Type: wire.MessagesSnapshot, Messages: append(e.Messages[:len(e.Messages):len(e.Messages)], now)})
}

// text sends the part of now that the client lacks.
func (e *Encoder) text(now string) {
	var added string
	if added, e.sent = dialect.Added(e.sent, now); e.open == "" || e.reasons {
		added = strings.TrimLeft(added, "\n")
	}
	if added != "" {
		e.begin(false)
		e.add(wire.Event{Type: wire.TextContent, MessageID: e.open, Delta: dialect.Raw(added)})
	}
}

// part returns the id of the newest message.
func (e *Encoder) part() string { return fmt.Sprintf("%s/%d", e.ID, e.parts) }

// begin opens a message, unless one of that kind is open.
func (e *Encoder) begin(reasons bool) {
	if e.open != "" && e.reasons == reasons {
		return
	}
	e.close()
	e.parts++
	e.open, e.reasons = e.part(), reasons
	if !reasons {
		e.add(wire.Event{Type: wire.TextStart, MessageID: e.open, Role: dialect.Assistant})
		return
	}
	e.add(wire.Event{Type: wire.ReasoningStart, MessageID: e.open})
	e.add(wire.Event{Type: wire.ReasoningMessageStart, MessageID: e.open, Role: "reasoning"})
}

// close ends the open message.
func (e *Encoder) close() {
	switch {
	case e.open == "":
	case e.reasons:
		e.add(wire.Event{Type: wire.ReasoningMessageEnd, MessageID: e.open})
		e.add(wire.Event{Type: wire.ReasoningEnd, MessageID: e.open})
	default:
		e.add(wire.Event{Type: wire.TextEnd, MessageID: e.open})
	}
	e.open = ""
}

// call brings a call to its current stage.
func (e *Encoder) call(c dialect.Call) {
	if c.Name == "" {
		return
	}
	news := e.calls.Next(c)
	if news.Begins {
		e.close()
		e.add(wire.Event{Type: wire.CallStart, CallID: c.ID, CallName: c.Name})
	}
	if news.Params != "" {
		e.add(wire.Event{Type: wire.CallArgs, CallID: c.ID, Delta: dialect.Raw(news.Params)})
	}
	if news.Ready {
		e.add(wire.Event{Type: wire.CallEnd, CallID: c.ID})
	}
	if news.Ends {
		result := cmp.Or(c.Result, c.ShortResult)
		if !c.Success {
			result = cmp.Or(c.Error, answer.ItFailed)
		}
		e.add(wire.Event{Type: wire.CallResult, MessageID: e.ID + "/" + c.ID, CallID: c.ID, Role: "tool", Content: dialect.Raw(result)})
	}
}

// end ends the run.
func (e *Encoder) end(s dialect.State, sentence string, failed bool) {
	e.close()
	for id := range e.calls.Unready() { // no call can be open at the end of a run
		e.add(wire.Event{Type: wire.CallEnd, CallID: id})
	}
	if failed {
		e.add(wire.Event{Type: wire.RunError, Message: sentence, Code: string(s.Outcome.Failure)})
		return
	}
	if e.State {
		e.add(wire.Event{Type: wire.StateDelta, Delta: dialect.Raw([]any{map[string]any{"op": "add", "path": "/parley", "value": map[string]any{"choices": s.Choices}}})})
	}
	finished := wire.Event{Type: wire.RunFinished, ThreadID: e.Thread, RunID: e.Run, Outcome: e.outcome(s)}
	if s.Usage != nil {
		finished.Usage = []wire.Usage{{Provider: s.Usage.Provider, Model: s.Usage.Model, Input: s.Usage.Prompt, Output: s.Usage.Completion, Cached: s.Usage.Cached}}
	}
	e.add(finished)
}

// outcome returns the outcome of the run; nil is a success.
func (e *Encoder) outcome(s dialect.State) *wire.Outcome {
	stopped := s.Outcome.Status == answer.Stopped || s.Outcome.Status == answer.Superseded
	switch {
	case stopped && e.Version != "":
		return &wire.Outcome{Type: wire.Cancelled}
	case s.Choices == nil || s.Outcome.Done():
		return nil
	}
	schema := map[string]any{"type": "string", "enum": s.Choices.Options}
	q := wire.Question{ID: s.Choices.ID, Reason: "choice", Message: s.Choices.Numbered(), CallID: s.Waiting(), ResponseSchema: dialect.Raw(schema)}
	return &wire.Outcome{Type: wire.Interrupt, Interrupts: []wire.Question{q}}
}

// Fail implements [dialect.Encoder].
func (e *Encoder) Fail(b []byte, sentence, code string) []byte {
	e.add(wire.Event{Type: wire.RunError, Message: sentence, Code: cmp.Or(code, "interrupted")})
	return e.out.Take(b)
}

// History appends the event that brings a client to a stored conversation.
func History(b []byte, messages []wire.Message) []byte {
	return dialect.Event(b, struct {
		Type     wire.Type      `json:"type"`
		Messages []wire.Message `json:"messages"` // also if there are none
	}{wire.MessagesSnapshot, messages})
}
