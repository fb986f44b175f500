package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/core/llm"
	"parley/internal/agui"
	"parley/models/wire"
)

// thinkingContent is the name of [agui.ReasoningMessageContent] before 1.0.
const thinkingContent agui.Type = "THINKING_TEXT_MESSAGE_CONTENT"

// event handles an event of AG-UI (0.0.x and 1.0). Events without anything to show, including unknown ones, are signs of
// life, so that the stream does not count as stalled.
func (s *stream) event(data []byte) error {
	if bytes.Equal(data, []byte("[DONE]")) { // other protocols end with [DONE], and some servers add it
		return nil
	}
	var e agui.Event
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("the agent sent an event that can't be read: %w", err)
	}
	switch e.Type {
	case agui.TextStart, agui.TextContent, agui.TextChunk:
		s.spoken(e)
	case agui.ReasoningMessageContent, agui.ReasoningMessageChunk, thinkingContent:
		s.reason(plain(e.Delta))
	case agui.CallStart:
		return s.start(e.CallID, e.CallName)
	case agui.CallArgs:
		s.parameters(e.CallID, plain(e.Delta))
	case agui.CallChunk:
		return s.chunk(e)
	case agui.CallEnd:
		s.running(e.CallID, "")
	case agui.CallResult:
		result, files := contentOf(e.Content)
		s.end(e.CallID, result, "", files...)
	case agui.ActivitySnapshot, agui.ActivityDelta, agui.StateSnapshot, agui.StateDelta:
		return s.document(e)
	case agui.MessagesSnapshot:
		s.snapshot(e.Messages)
	case agui.RunError:
		return reported(data)
	case agui.RunFinished:
		return s.finish(e)
	default:
		s.alive()
	}
	return nil
}

// reported returns the error that the agent reports in data.
func reported(data []byte) error {
	r := wire.ParseRefusal(data)
	if r.Empty() {
		return errors.New("the agent reported an error without a message")
	}
	return r
}

// document handles events of the agent's state, which is only kept, and of activities, which are statuses.
func (s *stream) document(e agui.Event) (err error) {
	switch e.Type {
	case agui.StateSnapshot:
		if len(e.Snapshot) <= maxDocument {
			s.kept.State = e.Snapshot
		}
	case agui.StateDelta:
		s.kept.State, err = patched(s.kept.State, e.Delta)
	case agui.ActivitySnapshot:
		s.board.set(e.MessageID, e.Content, e.Replace != nil && !*e.Replace)
	case agui.ActivityDelta:
		s.board.patch(e.MessageID, e.Patch)
	}
	content, shown := s.board[e.MessageID]
	if err != nil || !shown || e.MessageID == "" {
		s.alive()
		return err
	}
	s.status(e.MessageID, activityText(content))
	return nil
}

// spoken handles text. Messages that are not the agent's, such as an echo of the question, are not shown.
func (s *stream) spoken(e agui.Event) {
	if e.Role != "" && e.Role != "assistant" {
		s.foreign[e.MessageID] = true
	}
	if s.foreign[e.MessageID] {
		s.alive()
		return
	}
	s.say(e.MessageID, plain(e.Delta))
}

// chunk handles a piece of a call that has no events for its start and end. One without an id belongs to the newest
// call.
func (s *stream) chunk(e agui.Event) error {
	if e.CallID != "" {
		s.piece = e.CallID
		if err := s.start(e.CallID, e.CallName); err != nil {
			return err
		}
	}
	s.parameters(s.piece, plain(e.Delta))
	return nil
}

// snapshot handles the messages of the conversation: the newest one can have another text than was streamed.
func (s *stream) snapshot(all []agui.Message) {
	s.last = lastReply(all)
	for _, m := range all {
		if m.Role == "assistant" && m.ID != "" && m.ID == s.message && len(m.Content) > 0 {
			s.rewrite(m.ID, plain(m.Content))
			return
		}
	}
	s.alive()
}

// finish handles the end of a run. A run that pauses asks for decisions in its outcome.
func (s *stream) finish(e agui.Event) error {
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
	if e.Outcome == nil || e.Outcome.Type != agui.Interrupt {
		return nil
	}
	if len(e.Outcome.Interrupts) == 0 {
		return errors.New("the agent paused without a question")
	}
	for _, i := range e.Outcome.Interrupts {
		q, err := interrupted(i, s.calls[i.CallID])
		if err != nil {
			return err
		}
		s.askOnce(q)
	}
	return nil
}

// lastReply returns the agent's text after the last message of a user in a snapshot of the conversation.
func lastReply(all []agui.Message) string {
	var said []string
	for _, m := range all {
		switch t := plain(m.Content); {
		case m.Role == "user":
			said = nil
		case m.Role == "assistant" && t != "" && t != "null":
			said = append(said, t)
		}
	}
	return strings.Join(said, "\n\n")
}

// contentOf returns the text and the files of the content of a result. A file that can't be read is left out.
func contentOf(raw json.RawMessage) (result string, files []llm.File) {
	var parts []agui.Part
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 || parts[0].Type == "" {
		return plain(raw), nil
	}
	for _, p := range parts {
		switch {
		case p.Type == "text":
			result += p.Text
		case p.Source != nil && p.Source.Type == "data":
			var about struct{ Filename string }
			_ = json.Unmarshal(p.Metadata, &about) // no name
			if f, err := dataFile(about.Filename, p.Source.MimeType, p.Source.Value); err == nil {
				files = append(files, f)
			}
		case p.Source != nil && p.Source.Type == "url":
			result += "\n" + p.Source.Value
		}
	}
	return strings.TrimSpace(result), files
}
