package aisdk

import (
	"encoding/json"
	"errors"

	"parley/connectors/web/dialect"
	"parley/internal/uistream"
)

// Request is a message of a client, or its decision about an approval.
type Request struct {
	ID        string // of the conversation
	Messages  []dialect.Message
	Whole     bool // Messages is the whole conversation
	Again     bool // another answer is asked for
	Approvals bool // the client has parts for approvals
	// Question is the question that the client decides about, and Approved its decision; "" for none.
	Question string
	Approved bool
	Answer   string // the id of the answer with that question
}

// errForm is the sentence about a body that has another form.
var errForm = errors.New(`the body must be a JSON object with the "id" of the chat, and its "messages"`)

// Parse reads the body of POST /api/chat. Its error is a sentence.
func Parse(data []byte) (Request, error) {
	var in struct {
		uistream.Request
		Approvals bool `json:"approvals"`
	}
	if err := json.Unmarshal(data, &in); err != nil || in.ID == "" {
		return Request{}, errForm
	}
	r := Request{ID: in.ID, Whole: in.Message == nil, Again: in.Trigger == uistream.Regenerate, Approvals: in.Approvals}
	if in.Message != nil {
		in.Messages = []uistream.Message{*in.Message}
	}
	if len(in.Messages) == 0 {
		return r, errForm
	}
	for i, m := range in.Messages {
		one, err := message(m, i == len(in.Messages)-1)
		if err != nil {
			return r, err
		}
		if m.Role == dialect.User || m.Role == dialect.Assistant {
			r.Messages = append(r.Messages, one)
		}
	}
	last := in.Messages[len(in.Messages)-1]
	if r.Question, r.Approved = decision(last); r.Question != "" {
		r.Answer = last.ID
		return r, nil
	}
	if last.Role != dialect.User || !dialect.Asks(r.Messages) {
		return r, dialect.ErrNoMessage
	}
	return r, nil
}

// message converts a message, with its files if files is set.
func message(in uistream.Message, files bool) (m dialect.Message, err error) {
	m = dialect.Message{ID: in.ID, Role: in.Role}
	for _, p := range in.Parts {
		switch {
		case p.Type == "text":
			m.AddText(p.Text)
		case p.Type == "file" && files && in.Role == dialect.User:
			f, ok := dialect.FileOf(p.URL, p.FileName)
			if !ok {
				return m, errors.New("send files inside the message, as data: URLs")
			}
			m.Files = append(m.Files, f)
		}
	}
	return m, nil
}

// decision returns the newest decision about an approval in an answer.
func decision(m uistream.Message) (question string, approved bool) {
	for _, p := range m.Parts {
		if a := p.Approval; m.Role == dialect.Assistant && a != nil && a.Approved != nil && p.State == uistream.ApprovalResponded {
			question, approved = a.ID, *a.Approved
		}
	}
	return question, approved
}

// PastCall returns the part of a call that has ended, or none if the reader can't see it.
func PastCall(id, name, params, result, failure string, success bool) []uistream.Part {
	if name == "" {
		return nil
	}
	p := uistream.Part{Type: "dynamic-tool", CallID: id, ToolName: name, Input: dialect.Object(params), State: uistream.HasError, ErrorText: failure}
	if success {
		p.State, p.ErrorText, p.Output = uistream.HasOutput, "", dialect.Raw(Status{result})
	}
	return []uistream.Part{p}
}
