package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"parley/core/llm"
	"parley/internal/agui"
	"parley/internal/uistream"
)

// kept is the state of a session: [llm.Session.State]. It is stored as JSON, so its fields are a format.
type kept struct {
	State json.RawMessage `json:"state,omitempty"` // of AG-UI
	Seen  string          `json:"seen,omitempty"`  // the id of the newest message that the agent has answered
	Pause *pause          `json:"pause,omitempty"` // the questions that it has asked with this answer
}

// pause is the end of a run that waits for decisions.
type pause struct {
	Agent     string            `json:"agent,omitempty"` // its name in the configuration
	Run       string            `json:"run"`
	Questions []question        `json:"questions"`
	Reply     *uistream.Message `json:"reply,omitempty"` // of the AI SDK: its message with the questions
}

// question is a decision that the agent waits for.
type question struct {
	ID       string            `json:"id"`
	Text     string            `json:"text"`
	Options  []string          `json:"options,omitempty"`  // without these, and without Approve, any text is an answer
	Values   []json.RawMessage `json:"values,omitempty"`   // of Options, for the agent; nil: the options
	Field    string            `json:"field,omitempty"`    // of the object that the agent wants; empty: the value alone
	Number   bool              `json:"number,omitempty"`   // words that are a number become one
	Approve  *llm.Approval     `json:"approve,omitempty"`  // the call that needs an approval
	Approval string            `json:"approval,omitempty"` // of the AI SDK: the id of the approval
	Expires  time.Time         `json:"expires,omitzero"`
}

const (
	maxOptions = 10
	maxOption  = 60 // characters
	refused    = "Error: "
)

// typed reports whether users answer in words.
func (q question) typed() bool {
	return q.Approve == nil && (len(q.Options) == 0 || len(q.Options) > maxOptions || slices.ContainsFunc(q.Options, func(o string) bool { return len([]rune(o)) > maxOption }))
}

// asks handles a question in lines of JSON.
func (s *stream) asks(l line) error {
	if l.ID == "" || strings.TrimSpace(l.Text) == "" {
		return errors.New("the agent asked without an id or a text")
	}
	q := question{ID: l.ID, Text: l.Text, Options: l.Options, Expires: l.Expires}
	if l.Approve {
		q.Approve = &llm.Approval{Tool: cmp.Or(l.Name, l.ID), Arguments: plain(l.Arguments)}
	}
	s.askOnce(q)
	return nil
}

// askOnce adds a question, or replaces the one with its id: results belong to questions by their ids.
func (s *stream) askOnce(q question) {
	if i := slices.IndexFunc(s.asked, func(a question) bool { return a.ID == q.ID }); i >= 0 {
		s.asked[i] = q
		return
	}
	s.asked = append(s.asked, q)
}

// ask yields the questions at the end of the answer, and returns why it ends. Questions with options are calls of
// [llm.AskUser], so that the answer waits. If one is answered in words, all are part of the text, and the next message
// continues the run.
func (s *stream) ask() (llm.FinishReason, error) {
	if len(s.asked) == 0 {
		return llm.FinishStop, nil
	}
	s.kept.Pause = &pause{Agent: s.agent, Run: s.runID, Questions: s.asked, Reply: s.reply.message()}
	if slices.ContainsFunc(s.asked, question.typed) {
		for _, q := range s.asked {
			s.say("question "+q.ID, strings.Join(append([]string{q.Text}, q.Options...), "\n- "))
		}
		return llm.FinishStop, nil
	}
	data := raw(s.kept.Pause)
	if len(data) > maxDocument {
		return "", errors.New("the questions of the agent are too large")
	}
	for i, q := range s.asked {
		a := llm.Ask{ID: q.ID, Question: q.Text, Options: q.Options, Approve: q.Approve}
		if a.Approve != nil {
			a.Approve.Server, a.Options = s.agent, nil
		}
		if !q.Expires.IsZero() {
			a.Seconds = max(1, int(time.Until(q.Expires).Seconds()))
		}
		s.give(llm.Chunk{Call: &llm.CallDelta{Index: i, ID: q.ID, Name: llm.AskUser, Parameters: string(raw(a))}})
	}
	s.give(llm.Chunk{Opaque: &llm.Opaque{Owner: owner, Data: data}})
	return llm.FinishCalls, nil
}

// owner marks the opaque data of agents: a [pause], which names its agent.
const owner = "agent"

// answered returns the decision in the result of a call of [llm.AskUser], or in the words of a user.
func (q question) answered(result string) agui.Resume {
	value := any(result)
	chosen := slices.IndexFunc(q.Options, func(o string) bool { return strings.EqualFold(o, strings.TrimSpace(result)) })
	switch {
	case q.Approve != nil:
		value = result == llm.Approved
	case chosen >= 0 && chosen < len(q.Values):
		value = q.Values[chosen]
	case q.Number && isNumber(result):
		value = json.Number(strings.TrimSpace(result))
	case len(q.Options) > 0 && chosen < 0, strings.HasPrefix(result, refused):
		return agui.Resume{InterruptID: q.ID, Status: agui.Abandoned}
	}
	field := q.Field
	if field == "" && q.Approve != nil {
		field = "approved"
	}
	if field != "" {
		value = map[string]any{field: value}
	}
	return agui.Resume{InterruptID: q.ID, Status: agui.Resolved, Payload: raw(value)}
}

// isNumber reports whether a text is a number in JSON.
func isNumber(result string) bool {
	var n float64
	return json.Unmarshal([]byte(result), &n) == nil && strings.TrimSpace(result) != "null"
}

// decide returns the decisions about p: from the results at the end of messages, or from the newest message of a user, if
// p was asked in words: in a group they begin with the name of the author. None means that p is not decided yet.
func decide(messages []llm.Message, stored *pause, author string) (p *pause, decisions []agui.Resume) {
	results := map[string]string{}
	for _, m := range slices.Backward(messages) {
		switch data := m.Opaque.Of(owner); {
		case m.Role == llm.RoleTool:
			results[m.Call] = m.Text
			continue
		case m.Role == llm.RoleAssistant && data != nil && json.Unmarshal(data, &p) == nil && p != nil:
			for i, q := range p.Questions[:min(len(p.Questions), len(m.Calls))] {
				decisions = append(decisions, q.answered(results[m.Calls[i].ID]))
			}
			return p, decisions
		case m.Role != llm.RoleUser || m.Context || stored == nil:
			return nil, nil
		}
		if slices.ContainsFunc(stored.Questions, func(q question) bool { return q.Approve != nil }) {
			return nil, nil // it still waits for the approval
		}
		typed := slices.ContainsFunc(stored.Questions, question.typed)
		for _, q := range stored.Questions {
			d := agui.Resume{InterruptID: q.ID, Status: agui.Abandoned} // the user wrote something else instead
			if typed {
				d = q.answered(strings.TrimPrefix(m.Text, author+": "))
			}
			decisions = append(decisions, d)
		}
		return stored, decisions
	}
	return nil, nil
}

// interrupted returns the question of an interrupt. c is the call that it is about, or nil.
func interrupted(i agui.Question, c *call) (q question, err error) {
	q = question{ID: i.ID, Text: cmp.Or(strings.TrimSpace(i.Message), strings.ReplaceAll(i.Reason, "_", " "))}
	if q.ID == "" || q.Text == "" {
		return q, errors.New("the agent paused without a question")
	}
	if at, err := time.Parse(time.RFC3339, i.ExpiresAt); err == nil {
		q.Expires = at
	}
	q.readSchema(i.ResponseSchema)
	reason := strings.ToLower(i.Reason)
	switch {
	case i.CallID != "" && (len(q.Options) == 0 || slices.Equal(q.Options, yesNo)) || len(q.Options) == 0 && strings.Contains(reason, "approv"):
		q.Approve = &llm.Approval{Tool: reason}
		if c != nil {
			q.Approve.Tool = c.name
		}
	case len(i.ResponseSchema) == 0 && strings.Contains(reason, "confirm"):
		q.Options, q.Values, q.Field = yesNo, yesNoValues, "approved"
	}
	return q, nil
}

var (
	yesNo       = []string{"Yes", "No"}
	yesNoValues = []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
)

// schema is the part of a JSON schema that choices are read from.
type schema struct {
	Type       string                     `json:"type"`
	Enum       []json.RawMessage          `json:"enum"`
	EnumNames  []string                   `json:"enumNames"`
	Properties map[string]json.RawMessage `json:"properties"`
	OneOf      []struct {
		Const json.RawMessage `json:"const"`
		Title string          `json:"title"`
	} `json:"oneOf"`
}

// readSchema sets the options of q and their values from a schema: of an enumeration, of a boolean, or of an object with one
// such property. It sets none for a schema of anything else, which users answer in words.
func (q *question) readSchema(raw json.RawMessage) {
	var s schema
	if json.Unmarshal(raw, &s) != nil {
		return
	}
	for name, property := range s.Properties {
		if _, approves := s.Properties["approved"]; len(s.Properties) == 1 || approves && name == "approved" {
			q.readSchema(property)
			q.Field = name
			return
		}
	}
	q.Number = s.Type == "integer" || s.Type == "number"
	if s.Type == "boolean" {
		q.Options, q.Values = yesNo, yesNoValues
		return
	}
	for i, v := range s.Enum {
		name := plain(v)
		if i < len(s.EnumNames) {
			name = s.EnumNames[i]
		}
		q.Options, q.Values = append(q.Options, name), append(q.Values, v)
	}
	for _, o := range s.OneOf {
		q.Options, q.Values = append(q.Options, cmp.Or(o.Title, plain(o.Const))), append(q.Values, o.Const)
	}
}
