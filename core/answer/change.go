package answer

import (
	"iter"
	"strings"

	"parley/core/llm"
)

// Cursor is a position in an answer's changes: text and pieces of parameters count their bytes, everything else one. It is the same on every
// replica, so a reader may go on elsewhere with the cursor it has.
type Cursor uint64

// Change is one step of an answer. It is what answers, the bus and live streams have in common.
type Change struct {
	End  Cursor `json:"end"` // where the answer stands after it; the answer sets it where the writer left it 0
	Kind Kind   `json:"kind"`
	Step int    `json:"step,omitempty"` // the round of the model that wrote it: of Text, and of ToolStage
	Call string `json:"call,omitempty"` // of Callback and ToolStage, and of Text that a call adds to what it says
	Text string `json:"text,omitempty"` // Text: what is added; Callback: what the call now says
	// Important is the text of a Callback that people had better know also where nothing can be shown in place.
	Important string `json:"important,omitempty"`
	// Files are what the call shows beside its text from now on: a Callback without any takes away those before, a ToolStage
	// without any leaves them.
	Files   []llm.File `json:"files,omitempty"`
	Tool    *Tool      `json:"tool,omitempty"`    // of ToolStage; never changed once applied
	Choices *Choices   `json:"offer,omitempty"`   // of Offered
	Outcome *Outcome   `json:"outcome,omitempty"` // of Ended
	History []string   `json:"history,omitempty"` // of Ended: the whole trail, for those who did not hear all of it
}

// Kind is the kind of a [Change].
type Kind string

// The kinds of changes.
const (
	Text           Kind = "text"     // adds to the text of a step, or to what a call says
	Callback       Kind = "callback" // replaces what a call says
	ToolStage      Kind = "tool"     // moves a call on
	ChoicesChanged Kind = "offer"    // puts options below the answer, in place of those before, or takes them away
	Ended          Kind = "ended"    // the last
)

// Stage is how far a call has come.
type Stage string

// The stages of a call, in order. StageStreaming and StageRunning may come again, StageEnd comes once.
const (
	StageStart     Stage = "start"
	StageStreaming Stage = "streaming"
	StageRunning   Stage = "running"
	StageEnd       Stage = "end"
)

// Tool is what a reader may know of a call, beside its id and what it shows: see [ToolBlock].
type Tool struct {
	Name  string `json:"name"`
	Stage Stage  `json:"stage"`
	// Parameters are JSON, complete from StageRunning on. A view also has them while they are being written; a change of
	// StageStreaming has only ParametersChunk, which is added to them.
	Parameters      string `json:"parameters,omitempty"`
	ParametersChunk string `json:"parametersChunk,omitempty"`
	CompactParams   string `json:"compactParams,omitempty"` // the parameters in one line, for people
	Result          string `json:"result,omitempty"`
	ShortResult     string `json:"shortResult,omitempty"` // one line: of StageRunning how it goes, of StageEnd what came of it
	Success         bool   `json:"success,omitempty"`
	Error           string `json:"error,omitempty"` // a sentence, for people
}

// Status is how a run ended.
type Status string

// The ways a run ends. The empty Status has not.
const (
	Completed  Status = "completed"
	Ignored    Status = "ignored"
	Superseded Status = "superseded"
	Stopped    Status = "stopped"
	Failed     Status = "failed"
	TimedOut   Status = "timeout"
)

// Outcome is how an answer ended. The zero Outcome has not.
type Outcome struct {
	Status  Status          `json:"status"`
	Failure llm.FailureKind `json:"failure,omitempty"`
	// Withdrawn says that nothing of the answer is to stay in sight: what was shown is deleted.
	Withdrawn bool `json:"withdrawn,omitempty"`
	// Partial says that the answer had begun when it failed: its text is the beginning, with a mark.
	Partial bool `json:"partial,omitempty"`
	// Offer is what people may still choose from, below an answer that is completed; nil if nothing.
	Offer *Choices `json:"offer,omitempty"`
}

// Done says that there is an outcome.
func (o Outcome) Done() bool { return o.Status != "" }

// Interrupted says that the text is not the whole answer, though it may be a part of one.
func (o Outcome) Interrupted() bool {
	return o.Status == Stopped || o.Status == Superseded || o.Partial
}

// valid is false of what only a stranger on the bus would send.
func (c Change) valid() bool {
	return (c.Kind != ToolStage || c.Tool != nil) && (c.Kind != Ended || c.Outcome != nil && c.Outcome.Done())
}

// size is how far c moves the cursor.
func (c Change) size() Cursor {
	switch {
	case c.Kind == Text:
		return Cursor(len(c.Text))
	case c.Kind == ToolStage && c.Tool != nil && c.Tool.Stage == StageStreaming:
		return Cursor(len(c.Tool.ParametersChunk))
	}
	return 1
}

// from is c without its first n bytes.
func (c Change) from(n int) Change {
	if c.Kind == Text {
		c.Text = c.Text[n:]
	} else {
		t := *c.Tool
		t.ParametersChunk = t.ParametersChunk[n:]
		c.Tool = &t
	}
	return c
}

// View is the whole of an answer at one moment. It is never changed.
type View struct {
	At       Cursor
	Segments []Segment // in the order in which they began
	History  []string  // what calls said, oldest first, without immediate repeats
	Choices  *Choices  // what people may choose from now; nil if nothing
	// Important are the first of what calls took for important, oldest first, for places where nothing can be changed later.
	Important []string
	Outcome   Outcome
}

// Segment is the text of one step, or one call with its stage and what it last said.
type Segment struct {
	Call string // empty for the text of a step
	Tool Tool
	Text string // of a step it only grows from view to view; of a call it may be replaced
	// Files are what the call shows beside its text: replaced with it until the call ends. Their data is never changed.
	Files []llm.File
}

// Files are what calls show beside their text, in the order of the calls.
func (v View) Files() (all []llm.File) {
	for _, s := range v.Segments {
		all = append(all, s.Files...)
	}
	return all
}

// Placed gives the segments, each with how many bytes of [View.Text] stand above it.
func (v View) Placed() iter.Seq2[int, Segment] {
	return func(yield func(int, Segment) bool) {
		above := 0
		for _, s := range v.Segments {
			if !yield(above, s) {
				return
			}
			if s.Text == "" {
				continue
			}
			if above > 0 {
				above += len(between)
			}
			above += len(s.Text)
		}
	}
}

// between stands between two segments that say something.
const between = "\n\n"

// Text is all that the agent says: the segments in order, a blank line between those that say something.
func (v View) Text() string {
	if len(v.Segments) == 1 {
		return v.Segments[0].Text
	}
	var b strings.Builder
	for _, s := range v.Segments {
		if s.Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(between)
		}
		b.WriteString(s.Text)
	}
	return b.String()
}
