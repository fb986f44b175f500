package answer

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/core/llm"
	"parley/core/text"
)

// Cursor is a position in an answer's changes. Text and pieces of parameters count their bytes, every other change
// counts one. It is the same on every replica, so a reader can continue on another replica with its cursor.
type Cursor uint64

// Change is one step of an answer, in the form shared by answers, the bus and live streams.
type Change struct {
	End  Cursor `json:"end"` // the position after it; set by the answer if it is 0
	Kind Kind   `json:"kind"`
	Step int    `json:"step,omitempty"` // the model round that produced it: of Text and ToolStage
	Call string `json:"call,omitempty"` // of Callback and ToolStage, and of Text that is appended to a call's output
	Text string `json:"text,omitempty"` // Text, Reasoning: the added text; Callback: the call's new output
	// Important is the text of a Callback that must also be shown on platforms that can't edit messages.
	Important string `json:"important,omitempty"`
	// Notice marks a Text that is only for live readers, for example that another model continues. It is a segment of
	// its own, and is not remembered.
	Notice bool `json:"notice,omitempty"`
	// Below keeps the segment of the Callback or ToolStage below all others. It counts when the segment begins.
	Below bool `json:"below,omitempty"`
	// Files are the files that the call shows from now on: a Callback without files removes earlier ones, a ToolStage
	// without files keeps them.
	Files   []llm.File `json:"files,omitempty"`
	Tool    *Tool      `json:"tool,omitempty"`    // of ToolStage; immutable once applied
	Choices *Choices   `json:"offer,omitempty"`   // of ChoicesChanged
	Chosen  *Choices   `json:"chosen,omitempty"`  // of ChoicesChanged without Choices: those that had them, with the choice
	Outcome *Outcome   `json:"outcome,omitempty"` // of Ended
	History []string   `json:"history,omitempty"` // of Ended: the complete history, for readers that missed parts of it
}

// valid reports whether c is well-formed. A foreign sender on the bus could produce others.
func (c Change) valid() bool {
	return (c.Kind != ToolStage || c.Tool != nil) && (c.Kind != Ended || c.Outcome != nil && c.Outcome.Done())
}

// size returns how far c moves the cursor.
func (c Change) size() Cursor {
	switch {
	case c.Kind == Text, c.Kind == Reasoning:
		return Cursor(len(c.Text))
	case c.Kind == ToolStage && c.Tool != nil && c.Tool.Stage == StageStreaming:
		return Cursor(len(c.Tool.ParametersChunk))
	}
	return 1
}

// from returns c without its first n bytes.
func (c Change) from(n int) Change {
	if c.Kind == Text || c.Kind == Reasoning {
		c.Text = c.Text[n:]
	} else {
		t := *c.Tool
		t.ParametersChunk = t.ParametersChunk[n:]
		c.Tool = &t
	}
	return c
}

// Kind is the kind of a [Change].
type Kind string

// The kinds of changes.
const (
	Text           Kind = "text"      // appends to the text of a step, or to a call's output
	Withdrawn      Kind = "withdrawn" // removes the text of a step; later text of that step is a new segment
	Callback       Kind = "callback"  // replaces a call's output
	ToolStage      Kind = "tool"      // advances a call
	Thinking       Kind = "thinking"  // the model reasons, until any other change but Reasoning
	Reasoning      Kind = "reasoning" // appends to the reasoning that live readers can show. It is no part of the text, nor of a view
	ChoicesChanged Kind = "offer"     // replaces or removes the options below the answer
	Ended          Kind = "ended"     // the last change
)

// Unconfirmed is the note at the end of a stored answer whose last message may not have arrived. It is for the next
// prompts; users do not see it.
const Unconfirmed = "_(It is unknown whether this answer arrived.)_"

// CostSign begins the notices about the cost of an answer.
const CostSign = "💰 "

// Stage is the progress of a call.
type Stage string

// The stages of a call, in order. StageStreaming and StageRunning can occur several times, StageEnd occurs once.
const (
	StageStart     Stage = "start"
	StageStreaming Stage = "streaming"
	StageRunning   Stage = "running"
	StageEnd       Stage = "end"
)

// Tool is the visible state of a call, without its id and its output: see [ToolBlock].
type Tool struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty"` // the name for users; see [Tool.Public]
	// Detail reports whether Error is only for users who see the details of calls. Others read [ItFailed].
	Detail bool `json:"detail,omitempty"`
	// Hidden reports whether only owners see the call. Files that it shows, and its output, are for everyone.
	Hidden bool  `json:"hidden,omitempty"`
	Stage  Stage `json:"stage"`
	// Parameters are JSON, complete from StageRunning on. A view also contains them while they are streamed; a change
	// of StageStreaming only has ParametersChunk, the next piece.
	Parameters      string `json:"parameters,omitempty"`
	ParametersChunk string `json:"parametersChunk,omitempty"`
	CompactParams   string `json:"compactParams,omitempty"` // the parameters in one line
	// Worded reports whether the action itself wrote CompactParams, for everyone. Otherwise they list raw values.
	Worded      bool   `json:"worded,omitempty"`
	Result      string `json:"result,omitempty"`
	ShortResult string `json:"shortResult,omitempty"` // one line for users: the status in StageRunning, the result in StageEnd
	Success     bool   `json:"success,omitempty"`
	Error       string `json:"error,omitempty"` // a sentence for users
	// Duration is the time of its execution, at StageEnd. It is stored as that of [PastCall].
	Duration time.Duration `json:"-"`
}

// Public returns the part of a call that everyone who reads the answer can see: its label, its stage, and the action's
// texts for users. The parameters and the result are for owners only.
func (t Tool) Public() Tool {
	p := Tool{Name: cmp.Or(t.Label, text.NameLabel(t.Name)), Hidden: t.Hidden, Stage: t.Stage, ShortResult: t.ShortResult, Success: t.Success, Error: t.Error}
	if t.Worded {
		p.CompactParams, p.Worded = t.CompactParams, true
	}
	if t.Detail {
		p.Error = ItFailed
	}
	return p
}

// Status is the final state of a run.
type Status string

// The final states of a run. The empty Status means that it is still running.
const (
	Completed  Status = "completed"
	Ignored    Status = "ignored"
	Superseded Status = "superseded"
	Stopped    Status = "stopped"
	Failed     Status = "failed"
	TimedOut   Status = "timeout"
)

// Outcome describes the end of an answer. The zero Outcome means that it has not ended.
type Outcome struct {
	Status  Status          `json:"status"`
	Failure llm.FailureKind `json:"failure,omitempty"`
	// Withdrawn reports whether the whole answer is removed: messages already shown are deleted.
	Withdrawn bool `json:"withdrawn,omitempty"`
	// Partial reports whether the answer failed after it had begun: its text is the beginning, with a note.
	Partial bool `json:"partial,omitempty"`
	// Reason is a sentence with the reason for a missing or incomplete answer, for clients that wait for one. Chats
	// don't show it; "" for none.
	Reason string `json:"reason,omitempty"`
	// Offer contains the options that remain below a completed answer; nil if there are none.
	Offer *Choices `json:"offer,omitempty"`
	// Ping reports whether the end notifies the asker, who waited long and is not reading.
	Ping bool `json:"ping,omitempty"`
	// Usage is the sum over the calls of language models for the answer; nil if there were none, or if they are not counted.
	Usage *llm.UsageSum `json:"usage,omitempty"`
	Effort
}

// Effort describes the work for an answer, for its receipt. The numbers of messages are those of the process that ended it.
type Effort struct {
	Rounds    int    `json:"rounds,omitempty"`    // outputs of a model, each with the calls that follow it
	Failovers int    `json:"failovers,omitempty"` // models that failed, so that another one continued
	Sources   string `json:"sources,omitempty"`   // the providers whose texts were in the prompt, such as that of recalled passages
	Edits     int    `json:"edits,omitempty"`     // changes of posted messages
	Holds     int    `json:"holds,omitempty"`     // refusals by the platform's rate limits
	// Prompt is nil if no model was asked.
	Prompt *Prompt `json:"prompt,omitempty"`
}

// Prompt names the parts of the prompt of an answer. It has no text: the parts are read where they are stored, and those that were deleted
// are gone here, too.
type Prompt struct {
	Instructions string      `json:"instructions"`       // a hash of the system prompt
	Since        time.Time   `json:"since"`              // the time of the oldest message of the conversation; zero for none
	Recalled     []string    `json:"recalled,omitempty"` // the ids of the earlier messages that were found
	Facts        []time.Time `json:"facts,omitempty"`    // the times of their notes
}

// Done reports whether the answer has ended.
func (o Outcome) Done() bool { return o.Status != "" }

// Interrupted reports whether the text is incomplete.
func (o Outcome) Interrupted() bool {
	return o.Status == Stopped || o.Status == Superseded || o.Partial
}

// View is an immutable snapshot of an answer.
type View struct {
	At       Cursor
	Segments []Segment // in order of their beginning
	History  []string  // outputs of calls, oldest first, without immediate repetitions
	Choices  *Choices  // the current options; nil if there are none
	Chosen   *Choices  // without Choices: the last options, if a user chose one, for platforms that keep it visible
	// Important are the first important updates of calls, oldest first, for platforms that can't edit messages.
	Important []string
	Outcome   Outcome
	Thinking  bool // the model reasons, and has produced nothing else since
}

// Calls returns the calls of v in their stored form.
func (v View) Calls() []PastCall {
	var k CallSnapshot
	return k.Keep(v)
}

// Copied returns v with lists of its own, for readers that may modify a view. Texts and files are shared.
func (v View) Copied() View {
	v.History, v.Important = slices.Clone(v.History), slices.Clone(v.Important)
	for i := range v.Segments { // these are created per view
		v.Segments[i].Files = slices.Clone(v.Segments[i].Files)
	}
	for _, o := range []**Choices{&v.Choices, &v.Chosen, &v.Outcome.Offer} {
		if *o != nil {
			own := **o
			own.Options = slices.Clone(own.Options)
			*o = &own
		}
	}
	return v
}

// Files returns the files of all calls, in the order of the calls.
func (v View) Files() (all []llm.File) {
	for _, s := range v.Segments {
		all = append(all, s.Files...)
	}
	return all
}

// FirstSentence returns the first sentence of the text, without markup of blocks, in at most most characters. It is empty if there is no text.
func (v View) FirstSentence(most int) string {
	for _, s := range v.Segments {
		if said := text.FirstSentence(s.Text, most); s.Call == "" && !s.Notice && said != "" {
			return said
		}
	}
	return ""
}

// Placed yields the segments, each with its byte offset in [View.Text].
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

// Text returns the complete text: the nonempty segments in order, separated by blank lines.
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

// Remembered returns v in its stored form: without notices.
func (v View) Remembered() View {
	v.Segments = slices.DeleteFunc(slices.Clone(v.Segments), func(s Segment) bool { return s.Notice })
	return v
}

// Segment is the text of one step, or one call with its stage and current output.
type Segment struct {
	Call string // empty for text of a step
	Tool Tool
	Text string // of a step it only grows from view to view, until it is withdrawn; of a call it can be replaced
	// Files are the files that the call currently shows: replaced together with Text until the call ends. Their data is
	// immutable.
	Files []llm.File
	// Notice reports whether the text is only for live readers: see [Change].
	Notice bool
}

// between separates nonempty segments.
const between = "\n\n"

// Choices is the visible part of a question.
type Choices struct {
	ID       string   `json:"id"`
	Options  []string `json:"options"`
	Other    string   `json:"other,omitempty"`    // the label of an answer in the user's own words; empty: there is none
	Details  bool     `json:"details,omitempty"`  // users who can choose can have more shown, each alone
	Approval bool     `json:"approval,omitempty"` // that of [chat.Question]
	Edit     bool     `json:"edit,omitempty"`     // users who can choose can change the arguments of the call
	// Until is when an approval expires, in milliseconds since 1970; 0 for other questions.
	Until int64 `json:"until,omitempty"`
	// Fields are those of a form that are not answered yet: Other opens it.
	Fields []Field `json:"fields,omitempty"`
	// Chosen is the number of the chosen option, from 1; 0 while users can choose.
	Chosen int `json:"chosen,omitempty"`
}

// Refuses reports whether option i, from 0, refuses something that the others approve.
func (o Choices) Refuses(i int) bool { return o.Approval && i == len(o.Options)-1 }

// Named returns the index of the option that text names by its title or number, optionally after the agent's name. A
// title takes precedence over a number: an option titled "2" is chosen by "2".
func (o Choices) Named(text string) (option int, ok bool) {
	text = strings.TrimSpace(text)
	if i := slices.IndexFunc(o.Options, func(o string) bool { return strings.EqualFold(o, text) }); i >= 0 {
		return i, true
	}
	if called, rest, more := strings.Cut(text, " "); more && strings.HasPrefix(called, "@") {
		return o.Named(rest)
	}
	n, err := strconv.Atoi(strings.TrimRight(text, ".)"))
	return n - 1, err == nil && n >= 1 && n <= len(o.Options)
}

// Numbered returns the options as a numbered list, for platforms without buttons.
func (o Choices) Numbered() string {
	var b strings.Builder
	for i, option := range o.Options {
		fmt.Fprintf(&b, "%d. %s\n", i+1, option)
	}
	return strings.TrimSpace(b.String())
}
