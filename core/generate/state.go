package generate

import (
	"context"
	"encoding/json"
	"errors"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
)

// State is how far an answer has come when its run is parked: what another [Writer] needs to continue it. It is stored
// as JSON, so its fields are a format: a later version must be able to read it. Prompts are not stored; they are built
// again, with what the room holds by then.
type State struct {
	Step    int             `json:"step"`             // the round whose calls are being made
	Next    int             `json:"next,omitempty"`   // the step of the text that follows; in the form, 0 is 2
	Rounds  []storedMessage `json:"rounds,omitempty"` // natively: what the model said and was told, up to this round
	Results []storedMessage `json:"results,omitempty"`
	Calls   []storedCall    `json:"calls"`             // of the round, not made yet; the first one waits. None: the next round waits
	Lacked  bool            `json:"lacked,omitempty"`  // in the form: it is asked for again, with what the providers in Trace tell
	Written bool            `json:"written,omitempty"` // the model wrote them as text
	Finish  bool            `json:"finish,omitempty"`  // the round wanted no other one
	Held    *heldReply      `json:"held,omitempty"`    // the reply that follows Calls, with what follows that
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

// storeMessages converts messages to their stored form. Images are left out: they belong to the question, which is in
// the prompt that is built again.
func storeMessages(messages []llm.Message) (all []storedMessage) {
	for _, m := range messages {
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

// pause keeps how far the answer has come if err parks the run: the calls of s that are left are made when it goes on.
// For any other error it does nothing.
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

// pass asks whether the next call can be made. If the run is to wait for that, how far the answer has come is kept. The
// rest of a text that was cut off passes: half a sentence can't wait.
func (w *Writer) pass(ctx context.Context, req llm.Request, like *round) error {
	if w.Pass == nil || like.rest {
		return nil
	}
	err := w.Pass(ctx, w.seen(req))
	if err != nil && w.before != nil {
		w.pause(err, w.before())
	}
	return err
}

// Resume prepares w to continue the answer whose State it has; Write then does. The answer shows already what people
// have seen of it.
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
