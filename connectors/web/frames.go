package web

import (
	"slices"
	"strings"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// frame is one event of a stream. Its fields are those of the elizaOS chat API.
type frame struct {
	Type string `json:"type"` // status, token, tool, done

	Text     *string `json:"text,omitempty"`     // token: the added text
	FullText *string `json:"fullText,omitempty"` // token: the whole text, replacing the previous text; done: the whole answer

	// status: thinking, running_action, streaming; update, with an important notice as its text; choices, with the
	// current options, or without when they are gone. done without an answer: chosen, if the message was a choice that
	// an answer waited for
	Kind       string `json:"kind,omitempty"`
	ActionName string `json:"actionName,omitempty"`

	Phase           string       `json:"phase,omitempty"` // tool: call, result, error
	CallID          string       `json:"callId,omitempty"`
	ToolName        string       `json:"toolName,omitempty"`
	Stage           answer.Stage `json:"stage,omitempty"`
	At              int          `json:"at,omitempty"` // bytes of text above the call
	Args            string       `json:"args,omitempty"`
	ParametersChunk string       `json:"parametersChunk,omitempty"`
	CompactParams   string       `json:"compactParams,omitempty"`
	Result          string       `json:"result,omitempty"`
	ShortResult     string       `json:"shortResult,omitempty"`
	Error           string       `json:"error,omitempty"`
	Images          []string     `json:"images,omitzero"` // data: URLs; in done, on a reload and in completed answers, paths at the gateway
	Files           []shownFile  `json:"files,omitzero"`  // other than images

	MessageID   string          `json:"messageId,omitempty"` // done
	AgentName   string          `json:"agentName,omitempty"`
	FailureKind llm.FailureKind `json:"failureKind,omitempty"`
	Interrupted bool            `json:"interrupted,omitempty"`
	NoResponse  string          `json:"noResponseReason,omitempty"` // ignored, superseded, stopped
	History     []string        `json:"actionCallbackHistory,omitempty"`
	Choices     *answer.Choices `json:"choices,omitempty"` // status, done: the current options
}

// firstSnapshot is how many bytes are sent as additions before the whole text is sent again; each later interval is as
// long as the whole text was. The cost stays proportional to the length of the answer, and a reader who missed
// something is soon correct again.
const firstSnapshot = 2048

// encoder converts an answer's changes to frames. It records what the reader has received, but keeps no text.
type encoder struct {
	agent  string
	room   chat.RoomID
	run    chat.RunID // the encoded answer's run
	legacy bool       // every text frame holds the whole text
	chosen bool       // the message was handled as a choice

	seen    answer.View
	whole   int  // length of the last snapshot
	since   int  // bytes added since then
	joining bool // the reader's text is unknown: send the whole text first
	status  frame
	calls   []frame        // started and not yet ended at the reader
	places  map[string]int // of the calls that the reader has received
	asked   bool           // the reader shows options
	out     []frame        // of the last call of encode
}

// thinking returns the first frame.
func (e *encoder) thinking() []frame { return e.say(frame{Type: "status", Kind: "thinking"}) }

// nothing ends the stream of a message that no run answers.
func (e *encoder) nothing(why string) []frame {
	empty := ""
	return []frame{{Type: "done", FullText: &empty, AgentName: e.agent, NoResponse: why}}
}

// restart prepares for another answer of the same run. It ends the calls of the previous one, above all text, because
// the process that takes over a run makes its own calls, or none.
func (e *encoder) restart() (out []frame) {
	for _, f := range e.calls {
		cut := frame{Type: "tool", Phase: "error", CallID: f.CallID, ToolName: f.ToolName, Stage: answer.StageEnd, Error: "Interrupted by a restart."}
		if showed(e.seen, f.CallID) {
			cut = e.showing(cut, nil)
		}
		out = append(out, cut)
	}
	if e.asked {
		out = append(out, frame{Type: "status", Kind: "choices"})
	}
	*e = encoder{agent: e.agent, room: e.room, legacy: e.legacy, chosen: e.chosen, joining: true, status: e.status}
	return out
}

// encode returns the frames that bring the reader up to date with view, until the next call. changes are those in
// between: their text is sent at the position of the last one among the calls.
func (e *encoder) encode(run chat.RunID, changes []answer.Change, view answer.View) (out []frame) {
	e.run = run
	clear(e.out)
	out = e.out[:0]
	defer func() { e.out = out }()
	added, replaced := diff(e.seen, view)
	before, were := e.seen, e.places
	e.seen, e.places = view, places(view)
	last := -1
	for i, c := range changes {
		if c.Kind == answer.Text || c.Kind == answer.Callback {
			last = i
		}
	}
	for i, c := range changes {
		switch {
		case c.Kind == answer.ToolStage:
			out = append(out, e.tool(c)...)
		case c.Kind == answer.Callback && (len(c.Files) > 0 || showed(before, c.Call)):
			out = append(out, e.showing(frame{Type: "tool", Phase: "call", CallID: c.Call, Stage: answer.StageRunning, At: e.places[c.Call]}, c.Files))
		case c.Kind == answer.ChoicesChanged:
			e.asked = c.Choices != nil
			out = append(out, frame{Type: "status", Kind: "choices", Choices: c.Choices})
		}
		if c.Important != "" {
			out = append(out, frame{Type: "status", Kind: "update", Text: &c.Important})
		}
		if i == last && (added != "" || replaced) {
			joins := e.joining && added != ""
			out = append(out, e.say(frame{Type: "status", Kind: "streaming"})...)
			out = append(out, e.token(view, added, replaced || joins))
			e.joining = e.joining && !joins
		}
	}
	out = append(out, e.moved(were, out)...)
	if view.Outcome.Done() {
		out = append(out, e.done(run, view))
	}
	return out
}

// places returns how many bytes of text stand above each call of v.
func places(v answer.View) (all map[string]int) {
	for above, s := range v.Placed() {
		if s.Call != "" && s.Tool.Stage != "" {
			if all == nil {
				all = map[string]int{}
			}
			all[s.Call] = above
		}
	}
	return all
}

// moved returns frames for calls whose amount of text above has changed, except those in told.
func (e *encoder) moved(were map[string]int, told []frame) (out []frame) {
	for _, s := range e.seen.Segments {
		was, known := were[s.Call]
		if known && was != e.places[s.Call] && !slices.ContainsFunc(told, func(f frame) bool { return f.CallID == s.Call }) {
			f := toolFrame(s.Call, answer.Tool{Stage: s.Tool.Stage, Success: s.Tool.Success})
			f.At = e.places[s.Call]
			out = append(out, f)
		}
	}
	return out
}

func (e *encoder) token(view answer.View, added string, whole bool) frame {
	f := frame{Type: "token"}
	if e.since += len(added); e.since >= max(firstSnapshot, e.whole) {
		whole = true
	}
	if whole || e.legacy {
		all := view.Text()
		f.FullText = &all
	}
	if whole {
		e.whole, e.since = len(*f.FullText), 0
	}
	if !whole || e.legacy {
		f.Text = &added
	}
	return f
}

// say returns a status frame unless the reader already has that status.
func (e *encoder) say(f frame) []frame {
	if f.Kind == e.status.Kind && f.ActionName == e.status.ActionName {
		return nil
	}
	e.status = f
	return []frame{f}
}

func (e *encoder) tool(c answer.Change) (out []frame) {
	f := toolFrame(c.Call, *c.Tool)
	f.At = e.places[c.Call]
	if c.Files != nil {
		f = e.showing(f, c.Files)
	}
	switch f.Stage {
	case answer.StageStart:
		e.calls = append(e.calls, f)
	case answer.StageRunning:
		out = e.say(frame{Type: "status", Kind: "running_action", ActionName: f.ToolName})
	case answer.StageEnd:
		e.calls = slices.DeleteFunc(e.calls, func(o frame) bool { return o.CallID == c.Call })
	}
	return append(out, f)
}

// toolFrame returns the frame of a call's current state.
func toolFrame(id string, t answer.Tool) frame {
	f := frame{Type: "tool", Phase: "call", CallID: id, ToolName: t.Name, Stage: t.Stage, Args: t.Parameters,
		ParametersChunk: t.ParametersChunk, CompactParams: t.CompactParams, Result: t.Result, ShortResult: t.ShortResult,
		Error: t.Error}
	if t.Stage == answer.StageEnd {
		f.Phase = "error"
		if t.Success {
			f.Phase = "result"
		}
	}
	return f
}

func (e *encoder) done(run chat.RunID, v answer.View) frame {
	text := v.Text()
	o := v.Outcome
	f := frame{Type: "done", AgentName: e.agent, FailureKind: o.Failure, Interrupted: o.Interrupted()}
	if o.Withdrawn || o.Status == answer.Ignored || text == "" && len(v.Files()) == 0 {
		text, f.NoResponse = "", string(o.Status)
		if e.chosen {
			f.Kind = "chosen"
		}
	} else {
		said := chat.Run{ID: run}.Said()
		f.MessageID, f.History, f.Choices = string(said), v.History, o.Offer
		if len(v.Files()) > 0 { // most answers have no files
			for _, c := range v.Calls() {
				f.show(e.room, said, c)
			}
		}
	}
	f.FullText = &text
	return f
}

// diff returns the text added at the end between two views of one answer, or reports that something earlier changed, so
// that the whole text must be sent. It visits each segment once, and copies only the added text.
func diff(old, now answer.View) (added string, replaced bool) {
	i := 0
	for i < len(old.Segments) && i < len(now.Segments) && same(old.Segments[i], now.Segments[i]) {
		i++
	}
	if i == len(now.Segments) {
		return "", false
	}
	above := false // there is text above the first change
	for _, s := range now.Segments[:i] {
		above = above || s.Text != ""
	}
	if i < len(old.Segments) && old.Segments[i].Text != "" {
		if !strings.HasPrefix(now.Segments[i].Text, old.Segments[i].Text) { // a call's text has changed
			return "", true
		}
		added = now.Segments[i].Text[len(old.Segments[i].Text):]
		above = true
		i++
	}
	for j := i; j < len(old.Segments); j++ {
		if old.Segments[j].Text != "" {
			return "", true // visible content below the change
		}
	}
	return added + textOf(now.Segments[i:], above), false
}

// textOf returns the text of segments below others, with text above or not.
func textOf(segments []answer.Segment, above bool) string {
	var b strings.Builder
	for _, s := range segments {
		if s.Text == "" {
			continue
		}
		if above {
			b.WriteString("\n\n")
		}
		b.WriteString(s.Text)
		above = true
	}
	return b.String()
}

// showed reports whether files of a call were visible.
func showed(v answer.View, call string) bool {
	return slices.ContainsFunc(v.Segments, func(s answer.Segment) bool { return s.Call == call && len(s.Files) > 0 })
}

// same compares the segments at one position of two views. Text of a model step only grows, so comparing lengths
// suffices.
func same(a, b answer.Segment) bool {
	if a.Call != "" {
		return a.Text == b.Text
	}
	return len(a.Text) == len(b.Text)
}
