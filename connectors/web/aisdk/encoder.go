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

// Encoder implements [dialect.Encoder]. Text can't be rewritten in this format, so only text that stays is sent. Content
// that is replaced, such as the progress of a call, is a data-status part: each replaces the one before with the same id.
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
	parts  int // begun
	calls  dialect.Calls
	out    dialect.Events
}

// Status is the data of a data-status part; "" ends it.
type Status struct {
	Text string `json:"text"`
}

// Key is the same for encoders whose events are the same.
func (e *Encoder) Key() string { return fmt.Sprint("aisdk ", e.Approvals, e.Continues, e.MessageID) }

func (e *Encoder) add(c uistream.Chunk) { e.out.Add(c) }

// Begin implements [dialect.Encoder].
func (e *Encoder) Begin(b []byte) []byte {
	e.add(uistream.Chunk{Type: uistream.Start, MessageID: e.MessageID})
	e.add(uistream.Chunk{Type: uistream.StartStep})
	return e.out.Take(b)
}

// Skip implements [dialect.Encoder].
func (e *Encoder) Skip(s dialect.State) {
	e.sent, e.asked = s.Text, e.Continues
	for _, c := range s.Calls {
		if e.Continues && !c.Done() {
			c.Stage = answer.StageRunning // it was decided about: see Encode
		}
		if e.Continues || c.Done() { // the end of others is part of this message, and needs their beginning
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
		e.begin("reasoning")
		e.add(uistream.Chunk{Type: uistream.ReasoningDelta, ID: e.open, Delta: s.Reasoning})
	}
	for _, c := range s.Calls {
		if e.Approvals && s.Choices != nil && c.ID == s.Waiting() {
			c.Stage = answer.StageRunning // the client decides about the whole input, also if the call waits before it runs
		}
		if _, begun := e.calls[c.ID]; !begun {
			e.text(s.Text[:min(c.At, len(s.Text))])
		}
		e.call(c)
	}
	e.text(s.Text)
	if line := s.Line(); line != e.status {
		e.status = line
		e.add(uistream.Chunk{Type: "data-status", ID: "status", Data: dialect.Raw(Status{line})})
	}
	e.choices(s)
	if s.Over() {
		e.end(s, sentence, failed)
	}
	return e.out.Take(b)
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
	news := e.calls.Next(c)
	if news.Begins {
		e.close()
	}
	if c.Name != "" {
		e.tool(c, news)
	}
	if news.Ends {
		for _, f := range c.Files {
			e.add(uistream.Chunk{Type: uistream.File, URL: e.URL(f), MediaType: f.Type})
		}
	}
}

// tool sends the news of a call of a tool.
func (e *Encoder) tool(c dialect.Call, news dialect.CallNews) {
	if news.Begins {
		e.add(uistream.Chunk{Type: uistream.InputStart, CallID: c.ID, ToolName: c.Name, Dynamic: true})
	}
	if news.Ready {
		e.add(uistream.Chunk{Type: uistream.InputAvailable, CallID: c.ID, ToolName: c.Name, Input: dialect.Object(c.Parameters), Dynamic: true})
	} else if news.Params != "" {
		e.add(uistream.Chunk{Type: uistream.InputDelta, CallID: c.ID, InputDelta: news.Params})
	}
	switch {
	case !news.Ends:
	case c.Success:
		e.add(uistream.Chunk{Type: uistream.OutputAvailable, CallID: c.ID, Output: dialect.Raw(Status{cmp.Or(c.Result, c.ShortResult)}), Dynamic: true})
	default:
		e.add(uistream.Chunk{Type: uistream.OutputError, CallID: c.ID, ErrorText: cmp.Or(c.Error, answer.ItFailed), Dynamic: true})
	}
}

// choices sends the options that are open now.
func (e *Encoder) choices(s dialect.State) {
	now := s.Choices
	if now == nil && e.asked {
		now = &answer.Choices{Options: []string{}}
	}
	if now != nil {
		e.add(uistream.Chunk{Type: "data-choices", ID: "choices", Data: dialect.Raw(now)})
	}
	if e.asked = s.Choices != nil; !e.asked {
		return
	}
	if call := s.Waiting(); e.Approvals && call != "" {
		e.add(uistream.Chunk{Type: uistream.ApprovalRequest, CallID: call, ApprovalID: s.Choices.ID})
	}
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
	e.out = append(e.out, dialect.Done...)
}

// Fail implements [dialect.Encoder]. Without a code the client sees a broken connection, after which it asks for the stream again.
func (e *Encoder) Fail(b []byte, sentence, code string) []byte {
	if code != "" {
		e.add(uistream.Chunk{Type: uistream.Error, ErrorText: sentence})
	}
	return e.out.Take(b)
}
