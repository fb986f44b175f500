package generate

import (
	"context"
	"encoding/json"
	"errors"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
)

// State is the progress of an answer when its run is parked: the data with which another [Writer] continues it. It is
// stored as JSON, so its fields are a format: a later version must be able to read it. Prompts are not stored; they are
// built again from the content of the room at that time.
type State struct {
	Step    int             `json:"step"`             // the round whose calls are being made
	Next    int             `json:"next,omitempty"`   // the step of the text that follows; in the form, 0 is 2
	Rounds  []storedMessage `json:"rounds,omitempty"` // natively: the model's output and its input, up to this round
	Results []storedMessage `json:"results,omitempty"`
	Calls   []storedCall    `json:"calls"`             // of the round, not made yet; the first one waits. None: the next round waits
	Lacked  bool            `json:"lacked,omitempty"`  // in the form: it is requested again, with the output of the providers in Trace
	Written bool            `json:"written,omitempty"` // the model wrote them as text
	Finish  bool            `json:"finish,omitempty"`  // the round requested no other one
	Held    *heldReply      `json:"held,omitempty"`    // the reply after Calls, with the calls after it
	Acted   []storedResult  `json:"acted,omitempty"`
	IDs     []string        `json:"ids"` // of all calls of the run
	Trace   Trace           `json:"trace"`
	Noticed bool            `json:"noticed,omitempty"`
	Models  []string        `json:"models,omitempty"`  // only these answer
	Allowed []string        `json:"allowed,omitempty"` // see [Writer.Allowed]
}

// A storedMessage is a [llm.Message] of a round. Parameters are as the model wrote them, which may be no JSON.
type (
	storedMessage struct {
		Role   llm.Role     `json:"role"`
		Text   string       `json:"text,omitempty"`
		Calls  []storedCall `json:"calls,omitempty"`
		Call   string       `json:"call,omitempty"`
		Owner  string       `json:"owner,omitempty"`
		Opaque string       `json:"opaque,omitempty"`
	}
	storedCall struct {
		ID         string `json:"id"`
		Name       string `json:"name"`
		Parameters string `json:"parameters,omitempty"`
	}
	storedResult struct {
		Action     string `json:"action"`
		Parameters string `json:"parameters,omitempty"`
		Text       string `json:"text,omitempty"`
		Last       bool   `json:"last,omitempty"`
		Err        string `json:"err,omitempty"`
		NotMade    bool   `json:"notMade,omitempty"`
	}
	heldReply struct {
		Text  string       `json:"text"` // as the model wrote it, without the results of the calls before it
		Calls []storedCall `json:"calls,omitempty"`
	}
)

func storeCalls(calls []llm.ToolCall) (all []storedCall) {
	for _, c := range calls {
		all = append(all, storedCall{c.ID, c.Name, string(c.Parameters)})
	}
	return all
}

func restoreCalls(calls []storedCall) (all []llm.ToolCall) {
	for _, c := range calls {
		all = append(all, llm.ToolCall{ID: c.ID, Name: c.Name, Parameters: json.RawMessage(c.Parameters)})
	}
	return all
}

// storeMessages converts messages to their stored form. Images and later messages of the asker are left out: they are in the
// prompt that is built again.
func storeMessages(messages []llm.Message) (all []storedMessage) {
	for _, m := range messages {
		if m.Role == llm.RoleUser {
			continue
		}
		s := storedMessage{Role: m.Role, Text: m.Text, Calls: storeCalls(m.Calls), Call: m.Call}
		if m.Opaque != nil {
			s.Owner, s.Opaque = m.Opaque.Owner, string(m.Opaque.Data)
		}
		all = append(all, s)
	}
	return all
}

func restoreMessages(messages []storedMessage) (all []llm.Message) {
	for _, s := range messages {
		m := llm.Message{Role: s.Role, Text: s.Text, Calls: restoreCalls(s.Calls), Call: s.Call}
		if s.Owner != "" {
			m.Opaque = &llm.Opaque{Owner: s.Owner, Data: json.RawMessage(s.Opaque)}
		}
		all = append(all, m)
	}
	return all
}

// pause stores the progress of the answer if err parks the run; the remaining calls of s are made when the run
// continues. For any other error it does nothing.
func (w *Writer) pause(err error, s State) {
	if !errors.Is(err, chat.ErrParked) {
		return
	}
	for _, a := range w.Calls.Acted {
		s.Acted = append(s.Acted, storedResult{a.Action, string(a.Parameters), a.Result.Text, a.Result.Last, a.Err, a.NotMade})
	}
	s.IDs, s.Trace, s.Noticed, s.Models, s.Allowed = w.Calls.IDs(), w.Trace, w.noticed, w.Only, w.Allowed
	w.State = &s
}

// pass asks whether the next call can be made. If the run has to wait for that, the progress of the answer is stored.
// Calls for the rest of a truncated text always pass, because half a sentence can't wait. It fails with the error of
// w.Pass.
func (w *Writer) pass(ctx context.Context, req llm.Request, like *round) error {
	if w.Pass == nil || like.rest {
		return nil
	}
	err := w.Pass(ctx, w.adapt(req))
	if err != nil && w.before != nil {
		w.pause(err, w.before())
	}
	return err
}

// Resume prepares w to continue the answer of its State with Write. The answer already contains the visible text.
func (w *Writer) Resume() {
	s := w.State
	w.Trace, w.noticed, w.Allowed = s.Trace, s.Noticed, s.Allowed
	for _, a := range s.Acted {
		w.Calls.Acted = append(w.Calls.Acted, action.Acted{
			Action: a.Action, Parameters: json.RawMessage(a.Parameters), Result: action.Result{Text: a.Text, Last: a.Last}, Err: a.Err, NotMade: a.NotMade,
		})
	}
	w.Calls.Resume(s.IDs, restoreCalls(s.Calls), s.Written)
}
