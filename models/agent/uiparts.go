package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/core/llm"
	"parley/core/text"
	"parley/internal/agui"
	"parley/internal/uistream"
)

// reply is the answer so far as a message of the AI SDK: its next request has it, if it waits for a decision.
type reply struct {
	id    string
	parts []uistream.Part
}

// message returns the message, or nil if the answer is not one of the AI SDK.
func (r *reply) message() *uistream.Message {
	if r.id == "" && len(r.parts) == 0 {
		return nil
	}
	return &uistream.Message{ID: cmp.Or(r.id, "reply"), Role: "assistant", Parts: r.parts}
}

// part returns the part of a call. With the name of its tool, a new call is added; otherwise the part is not of the message.
func (r *reply) part(call, tool string) *uistream.Part {
	i := slices.IndexFunc(r.parts, func(p uistream.Part) bool { return p.CallID == call && call != "" })
	switch {
	case i >= 0:
		return &r.parts[i]
	case tool == "" || len(r.parts) >= maxCalls:
		return &uistream.Part{}
	}
	r.parts = append(r.parts, uistream.Part{Type: "tool-" + tool, CallID: call})
	return &r.parts[len(r.parts)-1]
}

// say adds text.
func (r *reply) say(txt string) {
	if n := len(r.parts); n == 0 || r.parts[n-1].Type != "text" {
		r.parts = append(r.parts, uistream.Part{Type: "text"})
	}
	r.parts[len(r.parts)-1].Text += txt
}

// uiChunk handles a chunk of the AI SDK's UI message stream. Unknown types are signs of life.
func (s *stream) uiChunk(data []byte) error {
	if bytes.Equal(data, []byte("[DONE]")) { // some routes write no finish
		s.done = true
		return s.pending()
	}
	var c uistream.Chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("the agent sent a chunk that can't be read: %w", err)
	}
	switch {
	case strings.HasPrefix(string(c.Type), uistream.DataPrefix):
		s.data(c)
		return nil
	case strings.HasPrefix(string(c.Type), "tool-"):
		return s.toolChunk(c)
	}
	return s.messageChunk(c)
}

// messageChunk handles text, files, and the end.
func (s *stream) messageChunk(c uistream.Chunk) error {
	switch c.Type {
	case uistream.Start:
		s.reply.id = cmp.Or(c.MessageID, s.reply.id, "reply")
		s.alive()
	case uistream.TextDelta:
		s.say(c.ID, c.Delta)
		s.reply.say(c.Delta)
	case uistream.ReasoningDelta:
		s.reason(c.Delta)
	case uistream.StartStep:
		s.reply.parts = append(s.reply.parts, uistream.Part{Type: "step-start"})
		s.alive()
	case uistream.ResetStep:
		s.give(llm.Chunk{Rewrites: true})
		s.above, s.latest = "", ""
	case uistream.File:
		return s.linked(c)
	case uistream.Error:
		return reported(raw(map[string]string{"message": c.ErrorText}))
	case uistream.Abort:
		return errors.New("the agent aborted its answer")
	case uistream.Finish:
		s.done = true
		return s.pending()
	default:
		s.alive()
	}
	return nil
}

// linked shows a file: its content, or a link to it.
func (s *stream) linked(c uistream.Chunk) error {
	_, data, inline := strings.Cut(c.URL, ";base64,")
	if !inline || !strings.HasPrefix(c.URL, "data:") {
		s.say("file "+c.URL, c.URL)
		return nil
	}
	return s.file(c.FileName, c.MediaType, data)
}

// data shows a part of data that has an id: a later one with the same type and id replaces it. A transient one goes with
// the answer's end.
func (s *stream) data(c uistream.Chunk) {
	line := activityText(c.Data)
	id := string(c.Type) + "/" + c.ID
	if c.ID == "" && !c.Transient || line == "" && s.board[id] == nil {
		s.alive()
		return
	}
	if c.Transient && !slices.Contains(s.fleeing, id) {
		s.fleeing = append(s.fleeing, id)
	}
	s.board.set(id, c.Data, false)
	s.status(id, line)
}

// toolChunk handles the calls of tools.
func (s *stream) toolChunk(c uistream.Chunk) error {
	p := s.reply.part(c.CallID, c.ToolName)
	switch c.Type {
	case uistream.InputStart:
		return s.start(c.CallID, c.ToolName)
	case uistream.InputDelta:
		p.State = uistream.InputStreaming
		s.parameters(c.CallID, c.InputDelta)
	case uistream.InputAvailable:
		if err := s.start(c.CallID, c.ToolName); err != nil {
			return err
		}
		if p.State == "" {
			s.parameters(c.CallID, string(c.Input))
		}
		p.Input, p.State = c.Input, uistream.HasInput
		s.running(c.CallID, "")
	case uistream.InputError, uistream.OutputError:
		p.State, p.ErrorText = uistream.HasError, c.ErrorText
		s.end(c.CallID, "", cmp.Or(c.ErrorText, "it failed"))
	case uistream.OutputAvailable:
		if c.Preliminary {
			s.running(c.CallID, cmp.Or(activityText(c.Output), text.OneLine(string(c.Output), maxLine)))
			return nil
		}
		p.State, p.Output = uistream.HasOutput, c.Output
		s.end(c.CallID, plain(c.Output), "")
	case uistream.OutputDenied:
		s.end(c.CallID, "", "it was denied")
	case uistream.ApprovalRequest:
		if p.CallID == "" { // of an unknown call
			s.alive()
			return nil
		}
		p.State, p.Approval = uistream.ApprovalRequested, &uistream.Approval{ID: c.ApprovalID}
		s.askOnce(question{ID: c.CallID, Text: c.Reason, Approval: c.ApprovalID, Approve: &llm.Approval{
			Tool: strings.TrimPrefix(p.Type, "tool-"), Arguments: string(p.Input),
		}})
	default:
		s.alive()
	}
	return nil
}

// pending adds the questions of tools that the client answers: calls without an output whose input has a question. It fails
// if the answer is nothing but another such tool.
func (s *stream) pending() error {
	unanswered := ""
	for _, p := range s.reply.parts {
		if p.State != uistream.HasInput {
			continue
		}
		var in struct {
			Question, Message string
			Options           []string
		}
		if json.Unmarshal(p.Input, &in) != nil || in.Question == "" && in.Message == "" {
			unanswered = p.Type
			continue
		}
		s.askOnce(question{ID: p.CallID, Text: cmp.Or(in.Question, in.Message), Options: in.Options})
	}
	if unanswered != "" && !s.said && len(s.asked)+len(s.files)+len(s.board) == 0 {
		return fmt.Errorf("the agent waits for its tool %q, which only a page can answer", strings.TrimPrefix(unanswered, "tool-"))
	}
	return nil
}

// decided returns the message of p with the decisions about its questions.
func (p *pause) decided(decisions []agui.Resume) uistream.Message {
	m := uistream.Message{Role: "assistant"}
	if p.Reply == nil {
		return m
	}
	m = *p.Reply
	m.Parts = slices.Clone(m.Parts)
	r := reply{parts: m.Parts}
	for i, d := range decisions {
		part, resolved := r.part(d.InterruptID, ""), d.Status == agui.Resolved
		switch {
		case p.Questions[i].Approval != "":
			var said struct{ Approved bool }
			_ = json.Unmarshal(d.Payload, &said) // not approved
			approved := resolved && said.Approved
			part.State, part.Approval = uistream.ApprovalResponded, &uistream.Approval{ID: p.Questions[i].Approval, Approved: &approved}
		case resolved:
			part.State, part.Output = uistream.HasOutput, d.Payload
		default:
			part.State, part.ErrorText = uistream.HasError, "The user has not answered."
		}
	}
	return m
}
