// Package dialect has the part that the wire formats of other chat clients share: a reduced form of an answer, and the
// server-sent events that carry it. Each format is a package below, with an [Encoder].
package dialect

import (
	"cmp"
	"strings"

	"parley/core/answer"
	"parley/core/llm"
	"parley/core/text"
)

// Encoder converts the states of one answer to the events of a stream. It belongs to one stream, and records only what
// it has sent. Its output depends on the states alone, so any replica continues it.
type Encoder interface {
	// Begin appends the first events, before anything is known of the answer.
	Begin(b []byte) []byte
	// Encode appends the events that bring the client to s. The last state is done, or has options: then the stream ends.
	Encode(b []byte, s State) []byte
	// Skip records that the client has s already.
	Skip(s State)
	// Fail appends the events that end the stream of an answer whose end is not known. code is why the reader may not read on, or
	// "": then a format without a way to ask for a reconnection gets nothing, and the client sees a broken connection.
	Fail(b []byte, sentence, code string) []byte
}

// State is what one reader can see of an answer, for clients that know text that grows, a status that is replaced, and
// tool calls.
type State struct {
	ID string // of the message
	// Text only grows, except when text is withdrawn or another process has begun again: see [Added].
	Text      string
	Status    string // one line; "" after the end
	Thinking  bool   // the model reasons
	Reasoning string // the added piece of the model's reasoning, if it is shown
	Calls     []Call // in order
	Choices   *answer.Choices
	Outcome   answer.Outcome
	Usage     *llm.UsageSum // nil if the reader can't see it
}

// Over reports whether the stream ends with s: the answer is done, or waits for a choice.
func (s State) Over() bool { return s.Outcome.Done() || s.Choices != nil }

// Failed returns the sentence for users if the answer failed and has no text of its own.
func (s State) Failed() (sentence string, failed bool) {
	return s.Text, s.Outcome.Failure != "" && !s.Outcome.Partial
}

// Call is a tool call, with the name and the parts that the reader can see.
type Call struct {
	ID string
	answer.Tool
	Output string // while it runs, its current output; the whole output then is part of the text
	Files  []llm.File
	At     int // bytes of Text above it
}

// Done reports whether the call has ended, or can't any more.
func (c Call) Done() bool { return c.Stage == answer.StageEnd }

// Line returns the status, or a stand-in for it while the model reasons.
func (s State) Line() string {
	if s.Status == "" && s.Thinking {
		return "Thinking…"
	}
	return s.Status
}

// Waiting returns the id of the call that waits for a choice, or "".
func (s State) Waiting() (id string) {
	for _, c := range s.Calls {
		if !c.Done() && c.Name != "" {
			id = c.ID
		}
	}
	return id
}

// Reader turns the views of one answer into states. It is not safe for concurrent use.
type Reader struct {
	Details bool // the reader sees all of the calls: see [answer.Tool.Public]
	// Reasons is set if the reader sees the model's reasoning.
	Reasons bool
	cache   answer.TextCache
}

// State returns the state of v, which changes have led to.
func (r *Reader) State(id string, changes []answer.Change, v answer.View) State {
	s := State{ID: id, Thinking: v.Thinking, Choices: v.Choices, Outcome: v.Outcome}
	if r.Details {
		s.Usage = v.Outcome.Usage
	}
	for i := range changes {
		if r.Reasons && changes[i].Kind == answer.Reasoning {
			s.Reasoning += changes[i].Text
		}
	}
	stable, above := v, 0
	stable.Segments = nil
	notice := ""      // until text follows
	changing := false // the text from here on can still change
	for _, seg := range v.Segments {
		switch {
		case seg.Call != "":
			c := r.call(seg)
			if c.At = above; c.Name != "" || len(c.Files) > 0 {
				s.Calls = append(s.Calls, c)
			}
			s.Status = cmp.Or(r.status(c), s.Status)
			changing = changing || seg.Tool.Stage != answer.StageEnd && !s.Over()
		case seg.Notice:
			notice = text.OneLine(seg.Text, maxStatus)
		case seg.Text != "":
			notice = ""
		}
		if changing || seg.Notice {
			continue
		}
		stable.Segments = append(stable.Segments, seg)
		if above += len(seg.Text); seg.Text != "" && above > len(seg.Text) {
			above += len("\n\n")
		}
	}
	s.Text, s.Status = r.cache.Text(stable), cmp.Or(s.Status, notice)
	if s.Over() {
		s.Status = ""
	}
	if s.Outcome.Done() {
		s.end()
	}
	return s
}

// end sets the parts that only the last state has.
func (s *State) end() {
	s.Choices = s.Outcome.Offer
	if s.Outcome.Withdrawn || s.Outcome.Status == answer.Ignored {
		s.Text = ""
	}
	if s.Text == "" && s.Outcome.Reason != "" {
		s.Text = s.Outcome.Reason
	}
	for i := range s.Calls {
		if !s.Calls[i].Done() {
			s.Calls[i].Stage, s.Calls[i].Error = answer.StageEnd, cmp.Or(s.Calls[i].Error, "Interrupted.")
		}
	}
}

// call returns the part of a call that the reader can see.
func (r *Reader) call(seg answer.Segment) Call {
	c := Call{ID: seg.Call, Tool: seg.Tool, Files: seg.Files}
	if seg.Tool.Stage == "" {
		return Call{ID: seg.Call, Files: seg.Files, Output: seg.Text} // an action without a tool
	}
	if c.Name = cmp.Or(c.Name, "unnamed tool"); !r.Details {
		if c.Tool = c.Public(); c.Hidden {
			c.Tool = answer.Tool{Hidden: true, Stage: c.Stage, Success: c.Success}
		}
	}
	if !c.Done() {
		c.Output = seg.Text
	}
	return c
}

// status returns the line for a call in progress: its output, or its name and progress.
func (r *Reader) status(c Call) string {
	switch {
	case c.Done():
		return ""
	case strings.TrimSpace(c.Output) != "":
		return text.OneLine(c.Output, maxStatus)
	case c.Name == "":
		return ""
	}
	line := cmp.Or(c.Label, c.Name)
	if more := cmp.Or(c.ShortResult, c.CompactParams); more != "" {
		line += ": " + more
	}
	return text.OneLine(line, maxStatus)
}

// maxStatus is the length of a status, in characters.
const maxStatus = 200
