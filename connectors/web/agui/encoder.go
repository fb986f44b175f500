// Package agui has the wire format of AG-UI, versions 0.0.x and 1.0, as the web connector serves it. Its types are those of
// the package internal/agui.
package agui

import (
	"cmp"
	"encoding/json"
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
	shown   bool // there is an activity
	open    string
	reasons bool // the open message is of reasoning
	parts   int  // begun
	calls   map[string]told
	err     error
	out     []byte
}

// told is what the client has of a call.
type told struct {
	params int // bytes of its parameters
	ready  bool
	done   bool
}

func (e *Encoder) add(v wire.Event) {
	if e.err == nil {
		e.out, e.err = dialect.Event(e.out, v)
	}
}

// take returns the events since the last call, after b.
func (e *Encoder) take(b []byte) ([]byte, error) {
	b, e.out = append(b, e.out...), e.out[:0]
	return b, e.err
}

// Begin implements [dialect.Encoder].
func (e *Encoder) Begin(b []byte) ([]byte, error) {
	e.add(wire.Event{Type: wire.RunStarted, ThreadID: e.Thread, RunID: e.Run, ProtocolVersion: e.Version})
	return e.take(b)
}

// Skip implements [dialect.Encoder]. The calls in progress are part of this run again, because it has their ends.
func (e *Encoder) Skip(s dialect.State) {
	e.sent = s.Text
	for _, c := range s.Calls {
		if c.Done() {
			e.remember(c.ID, told{done: true})
		}
	}
}

func (e *Encoder) remember(id string, t told) {
	if e.calls == nil {
		e.calls = map[string]told{}
	}
	e.calls[id] = t
}

// Encode implements [dialect.Encoder].
func (e *Encoder) Encode(b []byte, s dialect.State) ([]byte, error) {
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
	if s.Status == "" && s.Thinking {
		s.Status = "Thinking…"
	}
	if s.Status != e.status {
		e.status, e.shown = s.Status, true
		e.add(wire.Event{Type: wire.ActivitySnapshot, MessageID: e.ID + "/status", ActivityType: "STATUS", Content: dialect.Raw(map[string]string{"text": s.Status})})
	}
	if s.Over() {
		e.end(s, sentence, failed)
	}
	return e.take(b)
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
	t, begun := e.calls[c.ID]
	if t.done || c.Name == "" {
		return
	}
	if !begun {
		e.close()
		e.add(wire.Event{Type: wire.CallStart, CallID: c.ID, CallName: c.Name})
	}
	writing := c.Stage == answer.StageStart || c.Stage == answer.StageStreaming
	if params := c.Parameters; !t.ready && len(params) > t.params {
		e.add(wire.Event{Type: wire.CallArgs, CallID: c.ID, Delta: dialect.Raw(params[t.params:])})
		t.params = len(params)
	}
	if !t.ready && !writing {
		t.ready = true
		e.add(wire.Event{Type: wire.CallEnd, CallID: c.ID})
	}
	if c.Done() {
		t.done = true
		result := cmp.Or(c.Result, c.ShortResult)
		if !c.Success {
			result = cmp.Or(c.Error, answer.ItFailed)
		}
		e.add(wire.Event{Type: wire.CallResult, MessageID: e.ID + "/" + c.ID, CallID: c.ID, Role: "tool", Content: dialect.Raw(result)})
	}
	e.remember(c.ID, t)
}

// end ends the run.
func (e *Encoder) end(s dialect.State, sentence string, failed bool) {
	e.close()
	for id, t := range e.calls { // no call can be open at the end of a run
		if !t.ready && !t.done {
			e.add(wire.Event{Type: wire.CallEnd, CallID: id})
		}
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
	q := wire.Question{ID: s.Choices.ID, Reason: "choice", Message: s.Choices.Numbered(), ResponseSchema: dialect.Raw(schema)}
	for _, c := range s.Calls {
		if !c.Done() && c.Name != "" {
			q.CallID = c.ID
		}
	}
	return &wire.Outcome{Type: wire.Interrupt, Interrupts: []wire.Question{q}}
}

// Fail implements [dialect.Encoder].
func (e *Encoder) Fail(b []byte, sentence string) ([]byte, error) {
	e.add(wire.Event{Type: wire.RunError, Message: sentence, Code: "interrupted"})
	return e.take(b)
}

// History appends the event that brings a client to a stored conversation.
func History(b []byte, messages []wire.Message) ([]byte, error) {
	return dialect.Event(b, struct {
		Type     wire.Type      `json:"type"`
		Messages []wire.Message `json:"messages"` // also if there are none
	}{wire.MessagesSnapshot, messages})
}

// Option returns the index of the option that the payload of a resumption names: its text or number, as a string or as the
// member option, choice or value of an object; or yes or no: yes is the first option, and no the last.
func Option(c answer.Choices, payload json.RawMessage) (option int, ok bool) {
	var text string
	var number int
	var yes bool
	switch {
	case json.Unmarshal(payload, &text) == nil:
		return c.Named(text)
	case json.Unmarshal(payload, &number) == nil:
		return number, number >= 0 && number < len(c.Options)
	case json.Unmarshal(payload, &yes) == nil && yes:
		return 0, true
	case json.Unmarshal(payload, &yes) == nil:
		return len(c.Options) - 1, true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(payload, &object) != nil {
		return 0, false
	}
	for _, name := range []string{"option", "choice", "value", "approved"} {
		if inner, found := object[name]; found && len(inner) > 0 && inner[0] != '{' {
			return Option(c, inner)
		}
	}
	return 0, false
}
