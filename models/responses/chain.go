package responses

import (
	"encoding/json"
	"errors"
	"slices"

	"parley/core/llm"
	"parley/models"
	"parley/models/wire"
)

// chain is the state of a session whose conversation the provider stores: the response that the next request follows. It
// is stored as JSON, so its fields are a format.
type chain struct {
	Response string `json:"response"`
	Seen     string `json:"seen"` // the newest message that it has answered
}

// chained reports whether the provider stores the conversation of req.
func (m *Model) chained(req llm.Request) bool {
	return req.Session != nil && m.options.Agent.History == models.HistoryLast
}

// follow returns req with the messages that the provider does not have yet, and the response that they follow; or req
// itself, if the provider has none, or has another conversation by now.
func (m *Model) follow(req llm.Request) (rest llm.Request, previous string) {
	var c chain
	if !m.chained(req) || json.Unmarshal(req.Session.State, &c) != nil || c.Response == "" {
		return req, ""
	}
	all := req.Messages
	at := 1 + slices.IndexFunc(all, func(t llm.Message) bool { return t.ID != "" && t.ID == c.Seen })
	if at == 0 { // it was edited or deleted, or is too old
		return req, ""
	}
	for at < len(all) && all[at].Role == llm.RoleAssistant { // that response
		at++
	}
	for i := at; i < len(all); i++ {
		if all[i].Role == llm.RoleAssistant && all[i].ID == "" { // a later one, for the same answer
			at = i + 1
		}
	}
	req.Messages = all[at:]
	return req, c.Response
}

// keep returns the state after the response with this id, or nil.
func (m *Model) keep(req llm.Request, id string) json.RawMessage {
	if !m.chained(req) || id == "" {
		return nil
	}
	c := chain{Response: id}
	for _, t := range req.Messages {
		if t.ID != "" {
			c.Seen = t.ID
		}
	}
	state, _ := json.Marshal(c) // never fails for strings
	return state
}

// forgotten reports whether the provider no longer has the response that a request follows.
func forgotten(err error) bool {
	r, ok := errors.AsType[*wire.Refusal](err)
	return ok && r.Mentions("previous response")
}
