// Package aisdk has the wire format of the AI SDK's UI message stream, as the client useChat of its versions 5 to 7 reads
// it. It sends only chunks that all of these know, unless the client asks for approvals.
package aisdk

import (
	"cmp"
	"fmt"
	"strings"

	"parley/connectors/web/dialect"
	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/uistream"
)

// Encoder implements [dialect.Encoder]. Text can't be rewritten in this format, so only text that stays is sent. What is
// replaced, such as the progress of a call, is a data-status part, whose id makes each one replace the one before.
type Encoder struct {
	MessageID string
	// Approvals reports whether the client has parts for approvals, as version 6 and later. Options are data-choices
	// otherwise.
	Approvals bool
	// Continues reports whether the stream continues the message of an earlier one, which has its calls.
	Continues bool
	URL       func(llm.File) string // the address of a file

	sent   string // text
	status string
	asked  bool // the client shows options
	open   string
	parts  int             // begun
	calls  map[string]told // by id
	err    error
	out    []byte
}

// told is what the client has of a call.
type told struct {
	params int // bytes of its parameters
	ready  bool
	done   bool
}

// The ids of parts that are replaced.
const (
	statusPart  = "data-status"
	choicesPart = "data-choices"
)

// Status is the data of a data-status part; "" ends it.
type Status struct {
	Text string `json:"text"`
}

// Done ends every stream.
const Done = "data: [DONE]\n\n"

// Key is the same for encoders whose events are the same.
func (e *Encoder) Key() string { return fmt.Sprint("aisdk ", e.Approvals, e.Continues, e.MessageID) }

func (e *Encoder) add(c uistream.Chunk) {
	if e.err == nil {
		e.out, e.err = dialect.Event(e.out, c)
	}
}

// take returns the events since the last call, after b.
func (e *Encoder) take(b []byte) ([]byte, error) {
	b, e.out = append(b, e.out...), e.out[:0]
	return b, e.err
}

// Begin implements [dialect.Encoder].
func (e *Encoder) Begin(b []byte) ([]byte, error) {
	e.add(uistream.Chunk{Type: uistream.Start, MessageID: e.MessageID})
	e.add(uistream.Chunk{Type: uistream.StartStep})
	return e.take(b)
}

// Skip implements [dialect.Encoder].
func (e *Encoder) Skip(s dialect.State) {
	e.sent, e.asked = s.Text, e.Continues
	for _, c := range s.Calls {
		if !e.Continues && !c.Done() {
			continue // its end is part of this message, and needs its beginning
		}
		e.remember(c.ID, told{len(c.Parameters), c.Stage != answer.StageStart && c.Stage != answer.StageStreaming, c.Done()})
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
		e.begin("reasoning")
		e.add(uistream.Chunk{Type: uistream.ReasoningDelta, ID: e.open, Delta: s.Reasoning})
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
		e.status = s.Status
		e.add(uistream.Chunk{Type: statusPart, ID: "status", Data: dialect.Raw(Status{s.Status})})
	}
	e.choices(s)
	if s.Over() {
		e.end(s, sentence, failed)
	}
	return e.take(b)
}

// text sends the part of now that the client lacks.
func (e *Encoder) text(now string) {
	var added string
	if added, e.sent = dialect.Added(e.sent, now); !strings.HasPrefix(e.open, "t") {
		added = strings.TrimLeft(added, "\n")
	}
	if added != "" {
		e.begin("text")
		e.add(uistream.Chunk{Type: uistream.TextDelta, ID: e.open, Delta: added})
	}
}

// begin opens a part of a kind, unless one is open.
func (e *Encoder) begin(kind string) {
	if e.open != "" && e.open[0] == kind[0] {
		return
	}
	e.close()
	e.parts++
	e.open = fmt.Sprintf("%c%d", kind[0], e.parts)
	e.add(uistream.Chunk{Type: uistream.Type(kind + "-start"), ID: e.open})
}

// close ends the open part.
func (e *Encoder) close() {
	kind := uistream.TextEnd
	if strings.HasPrefix(e.open, "r") {
		kind = uistream.ReasoningEnd
	}
	if e.open != "" {
		e.add(uistream.Chunk{Type: kind, ID: e.open})
	}
	e.open = ""
}

// call brings a call to its current stage.
func (e *Encoder) call(c dialect.Call) {
	t, begun := e.calls[c.ID]
	if t.done {
		return
	}
	if !begun {
		e.close()
	}
	if c.Name != "" {
		e.input(c, &t, begun)
	}
	if c.Done() {
		t.done = true
		if c.Name != "" {
			e.output(c)
		}
		for _, f := range c.Files {
			e.add(uistream.Chunk{Type: uistream.File, URL: e.URL(f), MediaType: f.Type})
		}
	}
	e.remember(c.ID, t)
}

// input sends the part of the parameters that the client lacks. Those of a part of a JSON object are complete with
// [answer.StageRunning].
func (e *Encoder) input(c dialect.Call, t *told, begun bool) {
	if !begun {
		e.add(uistream.Chunk{Type: uistream.InputStart, CallID: c.ID, ToolName: c.Name, Dynamic: true})
	}
	if t.ready {
		return
	}
	if c.Stage == answer.StageStart || c.Stage == answer.StageStreaming {
		if len(c.Parameters) > t.params {
			e.add(uistream.Chunk{Type: uistream.InputDelta, CallID: c.ID, InputDelta: c.Parameters[t.params:]})
			t.params = len(c.Parameters)
		}
		return
	}
	t.ready = true
	e.add(uistream.Chunk{Type: uistream.InputAvailable, CallID: c.ID, ToolName: c.Name, Input: dialect.Object(c.Parameters), Dynamic: true})
}

// output sends the end of a call.
func (e *Encoder) output(c dialect.Call) {
	if c.Success {
		e.add(uistream.Chunk{Type: uistream.OutputAvailable, CallID: c.ID, Output: dialect.Raw(Status{cmp.Or(c.Result, c.ShortResult)}), Dynamic: true})
		return
	}
	e.add(uistream.Chunk{Type: uistream.OutputError, CallID: c.ID, ErrorText: cmp.Or(c.Error, answer.ItFailed), Dynamic: true})
}

// choices sends the options that are open now.
func (e *Encoder) choices(s dialect.State) {
	if s.Choices == nil {
		if e.asked {
			e.asked = false
			e.add(uistream.Chunk{Type: choicesPart, ID: "choices", Data: dialect.Raw(answer.Choices{Options: []string{}})})
		}
		return
	}
	e.asked = true
	e.add(uistream.Chunk{Type: choicesPart, ID: "choices", Data: dialect.Raw(s.Choices)})
	if call := waiting(s); e.Approvals && call != "" {
		e.add(uistream.Chunk{Type: uistream.ApprovalRequest, CallID: call, ApprovalID: s.Choices.ID})
	}
}

// waiting returns the call that waits for a choice, or "".
func waiting(s dialect.State) (id string) {
	for _, c := range s.Calls {
		if !c.Done() && c.Name != "" {
			id = c.ID
		}
	}
	return id
}

// end ends the stream.
func (e *Encoder) end(s dialect.State, sentence string, failed bool) {
	e.close()
	switch {
	case failed:
		e.add(uistream.Chunk{Type: uistream.Error, ErrorText: sentence})
	case s.Outcome.Status == answer.Stopped, s.Outcome.Status == answer.Superseded:
		e.add(uistream.Chunk{Type: uistream.Abort})
	default:
		e.add(uistream.Chunk{Type: uistream.FinishStep})
		e.add(uistream.Chunk{Type: uistream.Finish, Finish: uistream.FinishStop})
	}
	e.out = append(e.out, Done...)
}

// Fail implements [dialect.Encoder]. The client sees a broken connection, after which it asks for the stream again.
func (e *Encoder) Fail(b []byte, _ string) ([]byte, error) { return b, nil }
