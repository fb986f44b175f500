package agent

import (
	"encoding/json"
	"fmt"

	"parley/core/llm"
	"parley/models/wire"
)

// line is a line of the smaller protocol, with the fields of all types: see docs/your-agent.md.
type line struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"` // of text and result
	ID        string          `json:"id"`   // of tool and result
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Error     string          `json:"error"` // of result
	Message   string          `json:"message"`
	Usage     *usage          `json:"usage"` // of done
}

// line handles a line. Unknown types are signs of life.
func (s *stream) line(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return fmt.Errorf("the agent sent a line that can't be read: %w", err)
	}
	switch l.Type {
	case "text":
		s.say("", l.Text)
	case "tool":
		if err := s.start(l.ID, l.Name); err != nil {
			return err
		}
		if len(l.Arguments) > 0 {
			s.parameters(l.ID, text(l.Arguments))
		}
		s.run(l.ID)
	case "result":
		s.end(l.ID, l.Text, l.Error)
	case "error":
		if l.Message == "" {
			return fmt.Errorf("the agent reported an error without a message")
		}
		return wire.ParseRefusal(data)
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
