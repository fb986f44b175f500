package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"parley/core/llm"
	"parley/internal/agui"
)

// line is a line of the smaller protocol, version 1, with the fields of all types: see docs/your-agent.md.
type line struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"` // of text, reasoning, status, result and ask
	ID        string          `json:"id"`   // of tool, result, status and ask
	Name      string          `json:"name"` // of tool and file
	Arguments json.RawMessage `json:"arguments"`
	Status    string          `json:"status"`    // of tool: its progress
	Error     string          `json:"error"`     // of result
	Message   string          `json:"message"`   // of error
	MediaType string          `json:"mediaType"` // of file
	Data      string          `json:"data"`      // of file, in base64
	Options   []string        `json:"options"`   // of ask
	Approve   bool            `json:"approve"`   // of ask: it needs an approval
	Expires   time.Time       `json:"expires"`   // of ask
	State     json.RawMessage `json:"state"`     // of state
	Usage     *agui.Usage     `json:"usage"`     // of done
}

// line handles a line. Unknown types are signs of life.
func (s *stream) line(data []byte) error {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return fmt.Errorf("the agent sent a line that can't be read: %w", err)
	}
	switch l.Type {
	case "text":
		s.say(l.ID, l.Text)
	case "replace":
		s.rewrite(s.message, l.Text)
	case "reasoning":
		s.reason(l.Text)
	case "status":
		s.status(l.ID, l.Text)
	case "tool":
		return s.tool(l)
	case "result":
		s.end(l.ID, l.Text, l.Error)
	case "file":
		return s.file(l.Name, l.MediaType, l.Data)
	case "state":
		return s.document(agui.Event{Type: agui.StateSnapshot, Snapshot: l.State})
	case "ask":
		return s.asks(l)
	case "error":
		return reported(data)
	case "done":
		s.done = true
		if l.Usage != nil {
			s.usage = &llm.Usage{Prompt: l.Usage.Input, Completion: l.Usage.Output, Cached: l.Usage.Cached}
		}
	default:
		s.alive()
	}
	return nil
}

// tool handles the beginning of a call, or its progress if it has begun.
func (s *stream) tool(l line) error {
	err := s.start(l.ID, l.Name)
	s.parameters(l.ID, plain(l.Arguments)) // nothing, if it has begun
	s.running(l.ID, l.Status)
	return err
}
