package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/core/llm"
	"parley/models/wire"
)

// event has the fields of all AG-UI events (0.0.x and 1.0) that matter here, see
// https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/core/src/events.ts.
type event struct {
	Type      string          `json:"type"`
	MessageID string          `json:"messageId"`
	Role      string          `json:"role"`
	Delta     json.RawMessage `json:"delta"` // a string; a list in events that are not shown
	CallID    string          `json:"toolCallId"`
	CallName  string          `json:"toolCallName"`
	Content   json.RawMessage `json:"content"`
	Messages  []past          `json:"messages"`
	Outcome   *outcome        `json:"outcome"`
	Usage     []usage         `json:"usage"`
}

// past is a message of a snapshot of the conversation.
type past struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// outcome is the end of a run. One of type interrupt waits for a decision.
type outcome struct {
	Type       string `json:"type"`
	Interrupts []struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"interrupts"`
}

// usage is the number of tokens of one model that the agent used.
type usage struct {
	Input  int `json:"inputTokens"`
	Output int `json:"outputTokens"`
	Cached int `json:"cachedInputTokens"`
}

// event handles an AG-UI event. Events without anything to show, including unknown ones, are signs of life, so that
// the stream does not count as stalled.
func (s *stream) event(data []byte) error {
	if len(data) == 0 || bytes.Equal(data, []byte("[DONE]")) { // other protocols end with [DONE], and some servers add it
		return nil
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("the agent sent an event that can't be read: %w", err)
	}
	switch e.Type {
	case "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK":
		s.spoken(e)
	case "TOOL_CALL_START":
		return s.start(e.CallID, e.CallName)
	case "TOOL_CALL_ARGS":
		s.parameters(e.CallID, text(e.Delta))
	case "TOOL_CALL_CHUNK":
		return s.chunk(e)
	case "TOOL_CALL_END":
		s.run(e.CallID)
	case "TOOL_CALL_RESULT":
		s.end(e.CallID, text(e.Content), "")
	case "MESSAGES_SNAPSHOT":
		s.last = lastReply(e.Messages)
		s.alive()
	case "RUN_ERROR":
		r := wire.ParseRefusal(data)
		if r.Empty() {
			return errors.New("the agent reported an error without a message")
		}
		return r
	case "RUN_FINISHED":
		return s.finish(e)
	default:
		s.alive()
	}
	return nil
}

// spoken handles text. Messages that are not the agent's, such as an echo of the question, are not shown.
func (s *stream) spoken(e event) {
	if e.Role != "" && e.Role != "assistant" {
		if s.foreign == nil {
			s.foreign = map[string]bool{}
		}
		s.foreign[e.MessageID] = true
	}
	if s.foreign[e.MessageID] {
		s.alive()
		return
	}
	s.say(e.MessageID, text(e.Delta))
}

// chunk handles a piece of a call that has no events for its start and end. One without an id belongs to the newest
// call.
func (s *stream) chunk(e event) error {
	if e.CallID != "" {
		s.piece = e.CallID
		if s.calls[e.CallID] == nil {
			if err := s.start(e.CallID, e.CallName); err != nil {
				return err
			}
		}
	}
	s.parameters(s.piece, text(e.Delta))
	return nil
}

// finish handles the end of a run. A run that pauses for a decision has asked for it in its outcome, which is shown as
// text: the person's reply starts a new run, as this one can't be resumed.
func (s *stream) finish(e event) error {
	s.done = true
	for _, u := range e.Usage {
		if s.usage == nil {
			s.usage = &llm.Usage{}
		}
		s.usage.Prompt += u.Input
		s.usage.Completion += u.Output
		s.usage.Cached += u.Cached
	}
	if !s.said && s.last != "" { // the agent does not stream its text
		s.say("", s.last)
	}
	if e.Outcome == nil || e.Outcome.Type != "interrupt" {
		return nil
	}
	var asked []string
	for _, i := range e.Outcome.Interrupts {
		if i.Message != "" {
			asked = append(asked, i.Message)
		}
	}
	if len(asked) == 0 {
		return errors.New("the agent paused without a message, and a run can't be resumed")
	}
	s.say("interrupt", strings.Join(asked, "\n\n"))
	return nil
}

// lastReply returns the agent's text after the last message of a user in a snapshot of the conversation.
func lastReply(all []past) string {
	var said []string
	for _, m := range all {
		switch t := text(m.Content); {
		case m.Role == "user":
			said = nil
		case m.Role == "assistant" && t != "" && t != "null":
			said = append(said, t)
		}
	}
	return strings.Join(said, "\n\n")
}
