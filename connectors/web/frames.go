package web

import (
	"cmp"
	"slices"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// frame is one event of a stream. Its fields are those of the elizaOS chat API.
type frame struct {
	Type string `json:"type"` // status, reasoning, token, tool, done, reconnect

	Text     *string `json:"text,omitempty"`     // token, reasoning: the added text
	FullText *string `json:"fullText,omitempty"` // token, reasoning: the whole text, replacing the previous text; done: the whole answer

	// status: thinking, reasoning, running_action, streaming; update, with an important notice as its text; choices, with the
	// current options, or without when they are gone. done without an answer: chosen, if the message was a choice that
	// an answer waited for
	Kind       string `json:"kind,omitempty"`
	ActionName string `json:"actionName,omitempty"`

	Phase           string       `json:"phase,omitempty"` // tool: call, result, error
	CallID          string       `json:"callId,omitempty"`
	ToolName        string       `json:"toolName,omitempty"` // the label, for readers without details; empty in calls that show them only files
	Label           string       `json:"label,omitempty"`    // for those who do
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
	NoResponse  string          `json:"noResponseReason,omitempty"` // ignored, relayed, superseded, stopped
	Reason      string          `json:"reason,omitempty"`           // a sentence, for clients that wait for an answer
	History     []string        `json:"actionCallbackHistory,omitempty"`
	Choices     *answer.Choices `json:"choices,omitempty"` // status, done: the current options
	Usage       *usage          `json:"usage,omitempty"`   // done, for those who see details

	After int    `json:"after,omitempty"` // reconnect: milliseconds to wait
	Code  string `json:"code,omitempty"`  // reconnect: why the reader may not read any more

	cursor string // of the text with this frame, as the id of the event; see [cursor]
}

// usage is the number of tokens of an answer.
type usage struct {
	PromptTokens     int    `json:"promptTokens"`
	CompletionTokens int    `json:"completionTokens"`
	TotalTokens      int    `json:"totalTokens"`
	Model            string `json:"model,omitempty"`
	Provider         string `json:"provider,omitempty"`
	IsEstimated      bool   `json:"isEstimated"`
	LLMCalls         int    `json:"llmCalls"`
	CachedTokens     int    `json:"cachedTokens,omitempty"`
}

// usage returns the usage of an answer as far as the reader can see it. It describes the stages of the answer, and
// names a model.
func (w wishes) usage(u *llm.UsageSum) *usage {
	if u == nil || !w.details {
		return nil
	}
	return &usage{u.Prompt, u.Completion, u.Prompt + u.Completion, u.Model, u.Provider, u.Estimated, u.Calls, u.Cached}
}

// firstSnapshot is how many bytes are sent as additions before the whole text is sent again; each later interval is as
// long as the whole text was. The whole texts together are therefore about twice as long as the answer, and a reader
// who missed something is soon correct again.
const firstSnapshot = 2048

// encoder converts an answer's changes to frames. It records what the reader has received, but keeps no text beyond the
// last view, which shares the answer's. It belongs to one stream. The order of frames matters: clients place text and
// calls by it.
type encoder struct {
	agent string
	room  chat.RoomID
	run   chat.RunID // the encoded answer's run
	wishes
	chosen   bool // the message was handled as a choice
	reasoned bool // the reader has received reasoning

	seen    answer.View
	whole   int            // length of the last snapshot
	since   int            // bytes added since then
	joining bool           // the reader's text is unknown: send the whole text first
	status  [2]string      // kind and action of the last status
	calls   []frame        // started and not yet ended at the reader
	places  map[string]int // of the calls that the reader has received
	asked   bool           // the reader shows options
	sent    cursor         // the text of the reader
	lost    bool           // the next view is of another answer of the run
	out     []frame        // the result of the last call of encode
}

// thinking returns the first frame.
func (e *encoder) thinking() []frame {
	e.say("thinking", "")
	return e.out
}

// nothing ends the stream of a message that no run answers; relayed if a person reads it.
func (e *encoder) nothing(relayed bool) []frame {
	empty, why := "", string(answer.Ignored)
	if relayed {
		why = "relayed"
	}
	return []frame{{Type: "done", FullText: &empty, AgentName: e.agent, NoResponse: why}}
}

// restart prepares for another answer of the same run, whose first state is now. It ends the calls of the previous one and takes
// its options away, unless the new one has them: a run that has waited continues with its calls, but another process that takes
// over a run makes its own calls, or none. The text is sent as a whole next.
func (e *encoder) restart(now answer.View) (out []frame) {
	for _, f := range e.calls {
		if slices.ContainsFunc(now.Segments, func(s answer.Segment) bool { return s.Call == f.CallID }) {
			continue
		}
		cut := frame{Type: "tool", Phase: "error", CallID: f.CallID, ToolName: f.ToolName, Label: f.Label, Stage: answer.StageEnd, Error: "Interrupted by a restart."}
		if showed(e.seen, f.CallID) {
			cut = e.showing(cut, nil)
		} else if f.ToolName == "" {
			continue // nothing of it was shown
		}
		out = append(out, cut)
	}
	if e.asked && now.Choices == nil {
		out = append(out, frame{Type: "status", Kind: "choices"})
	}
	if e.reasoned {
		empty := ""
		out = append(out, frame{Type: "reasoning", FullText: &empty})
	}
	e.after = e.sent
	*e = encoder{agent: e.agent, room: e.room, wishes: e.wishes, chosen: e.chosen, joining: true, status: e.status}
	return out
}

// encode returns the frames that bring the reader up to date with view, until the next call, which reuses their memory.
// changes are those in between: their text is sent at the position of the last one among the calls.
func (e *encoder) encode(run chat.RunID, changes []answer.Change, view answer.View) []frame {
	if e.lost {
		e.out = e.restart(view)
	} else {
		clear(e.out)
		e.out = e.out[:0]
	}
	e.run = run
	if e.places != nil || view.Outcome.Done() || !onlyText(changes) {
		e.encodeAll(changes, view)
		return e.out
	}
	// The usual case has a function with a small stack frame: this is where streams spend their time, and the stacks of
	// thousands of streams add up.
	added, replaced := diff(e.seen, view)
	e.seen = view
	e.text(view, added, replaced)
	return e.out
}

// onlyText reports whether changes are text of the answer itself.
func onlyText(changes []answer.Change) bool {
	for i := range changes {
		if c := &changes[i]; c.Kind != answer.Text || c.Call != "" {
			return false
		}
	}
	return true
}

// encodeAll is encode for changes other than text: calls, files, options, notices, and the end.
func (e *encoder) encodeAll(changes []answer.Change, view answer.View) {
	added, replaced := diff(e.seen, view)
	before, were := e.seen, e.places
	e.seen, e.places = view, places(view)
	// The difference of the texts includes all changes of text. It is sent once, where the last of them was.
	last := -1
	for i, c := range changes {
		if c.Kind == answer.Text || c.Kind == answer.Withdrawn || c.Kind == answer.Callback {
			last = i
		}
	}
	for i, c := range changes {
		switch {
		case c.Kind == answer.Thinking:
			e.say("reasoning", "")
		case c.Kind == answer.Reasoning && e.reasoning:
			e.out, e.reasoned = append(e.out, frame{Type: "reasoning", Text: &c.Text}), true
		case c.Kind == answer.ToolStage:
			e.tool(c)
		case c.Kind == answer.Callback && (len(c.Files) > 0 || showed(before, c.Call)):
			e.out = append(e.out, e.showing(frame{Type: "tool", Phase: "call", CallID: c.Call, Stage: answer.StageRunning, At: e.places[c.Call]}, c.Files))
		case c.Kind == answer.ChoicesChanged:
			e.asked = c.Choices != nil
			e.out = append(e.out, frame{Type: "status", Kind: "choices", Choices: c.Choices})
		}
		if c.Important != "" {
			e.out = append(e.out, frame{Type: "status", Kind: "update", Text: &c.Important})
		}
		if i == last {
			e.text(view, added, replaced)
		}
	}
	e.out = append(e.out, e.moved(were, e.out)...)
	if view.Outcome.Done() {
		e.out = append(e.out, e.done(e.run, view))
	}
}

// text adds the frames of a change of text, if there is any.
func (e *encoder) text(view answer.View, added string, replaced bool) {
	if added == "" && !replaced {
		return
	}
	joins := e.joining && added != ""
	e.say("streaming", "")
	if joins && e.after.begins(added) { // the reader has the beginning
		e.sent, e.whole, added = e.after, e.after.bytes, added[e.after.bytes:]
	} else {
		replaced = replaced || joins
	}
	if added != "" || replaced {
		e.token(view, added, replaced)
	}
	e.joining = e.joining && !joins
}

// add adds a frame. The pointer is valid until the next one is added, because the slice may move.
func (e *encoder) add(kind string) *frame {
	e.out = append(e.out, frame{})
	f := &e.out[len(e.out)-1]
	f.Type = kind
	return f
}

// places returns how many bytes of text stand above each call of v. Clients place the calls by these numbers. It is nil
// if there are none.
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

// moved returns frames for calls whose amount of text above has changed, because text above them was withdrawn or
// replaced, except those in told, whose frames have it already.
func (e *encoder) moved(were map[string]int, told []frame) (out []frame) {
	for _, s := range e.seen.Segments {
		was, known := were[s.Call]
		if known && was != e.places[s.Call] && !slices.ContainsFunc(told, func(f frame) bool { return f.CallID == s.Call }) {
			if s.Tool.Hidden && !e.details && len(s.Files) == 0 {
				continue
			}
			f := e.toolFrame(s.Call, answer.Tool{Stage: s.Tool.Stage, Success: s.Tool.Success})
			f.At, f.ToolName, f.Label = e.places[s.Call], "", ""
			out = append(out, f)
		}
	}
	return out
}

// token adds a frame with the added text, or with the whole one if that is due or asked for. A legacy client always
// gets both.
func (e *encoder) token(view answer.View, added string, whole bool) {
	f := e.add("token")
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
	if e.cursors {
		if whole {
			e.sent = cursor{}
			added = *f.FullText
		}
		e.sent = e.sent.add(added)
		f.cursor = e.sent.String()
	}
}

// say adds a status frame unless the reader already has that status.
func (e *encoder) say(kind, action string) {
	if now := [2]string{kind, action}; now != e.status {
		e.status = now
		f := e.add("status")
		f.Kind, f.ActionName = kind, action
	}
}

// tool adds the frame of a call's stage, and remembers the calls that restart has to end. Of a hidden call there are only
// frames with files.
func (e *encoder) tool(c answer.Change) {
	f := e.toolFrame(c.Call, *c.Tool)
	f.At = e.places[c.Call]
	if c.Files != nil {
		f = e.showing(f, c.Files)
	}
	e.calls = slices.DeleteFunc(e.calls, func(o frame) bool { return o.CallID == c.Call })
	if f.Stage != answer.StageEnd {
		e.calls = append(e.calls, frame{CallID: c.Call, ToolName: f.ToolName, Label: f.Label})
	}
	if f.ToolName == "" && c.Files == nil {
		return
	}
	if f.Stage == answer.StageRunning && f.ToolName != "" {
		e.say("running_action", f.ToolName)
	}
	e.out = append(e.out, f)
}

// toolFrame returns the frame of a call's current state. All that readers are sent of a call is made here, so that no route
// shows more of it than another.
func (w wishes) toolFrame(id string, t answer.Tool) frame {
	label := ""
	t.Name = cmp.Or(t.Name, "unnamed tool") // models can leave the name out; an empty one stands for a hidden call
	if p := t.Public(); w.details {
		label = p.Name
	} else if t = p; t.Hidden {
		t = answer.Tool{Stage: t.Stage, Success: t.Success}
	}
	f := frame{Type: "tool", Phase: "call", CallID: id, ToolName: t.Name, Label: label, Stage: t.Stage, Args: t.Parameters,
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

// done returns the last frame. It has the whole text, so a client that trusts nothing else is right in the end. An
// answer that shows nothing has a reason instead.
func (e *encoder) done(run chat.RunID, v answer.View) frame {
	text := v.Text()
	o := v.Outcome
	f := frame{Type: "done", AgentName: e.agent, FailureKind: o.Failure, Interrupted: o.Interrupted(), Reason: o.Reason, Usage: e.usage(o.Usage)}
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
