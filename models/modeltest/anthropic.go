package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// Anthropic returns a server of the Messages API.
func Anthropic() Fake { return newServer(anthropic{}) }

type anthropic struct{}

func (anthropic) key(r *http.Request) string { return r.Header.Get("X-Api-Key") }

func (anthropic) other(w http.ResponseWriter, r *http.Request, _ []byte) bool {
	if r.Method+" "+r.URL.Path != "GET /v1/models" {
		return false
	}
	writeJSON(w, http.StatusOK, object{"data": []object{{"type": "model", "id": "model-a"}, {"type": "model", "id": "model-b"}}, "has_more": false})
	return true
}

func (anthropic) refuse(w http.ResponseWriter, e Refusal) {
	if e.RetryAfter != "" {
		w.Header().Set("Retry-After", e.RetryAfter)
	}
	writeJSON(w, e.Status, object{"type": "error", "error": object{"type": e.Kind, "message": e.Message}, "request_id": "req_1"})
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Source    struct{ Data string }
}

type anthropicRequest struct {
	Model     string
	MaxTokens int `json:"max_tokens"`
	Stream    bool
	Thinking  *struct {
		Type    string
		Budget  int `json:"budget_tokens"`
		Display string
	}
	Temperature *float64
	Messages    []struct {
		Role    string
		Content []anthropicBlock
	}
}

func (a anthropic) read(r *http.Request, raw []byte) (s Seen) {
	var b anthropicRequest
	if err := json.Unmarshal(raw, &b); err != nil {
		return Seen{Rejected: err.Error()}
	}
	s.Model, s.Limit = b.Model, b.MaxTokens
	s.Rejected, s.Readable = a.judge(r, b), b.Thinking != nil && b.Thinking.Display == "summarized"
	for _, m := range b.Messages {
		for _, c := range m.Content {
			switch c.Type {
			case "image":
				s.Images = append(s.Images, c.Source.Data)
			case "tool_result":
				s.Results = append(s.Results, string(c.Content))
			case "thinking":
				s.Thoughts = append(s.Thoughts, c.Thinking)
				if c.Signature != sign(b.Model, c.Thinking) {
					s.Rejected = "Invalid `signature` in `thinking` block"
				}
			}
		}
	}
	s.Prompt, s.Marks = anthropicPrompt(raw)
	if len(s.Marks) > 4 {
		s.Rejected = "A maximum of 4 blocks with cache_control may be provided."
	}
	return s
}

func sign(model, thought string) string { return "signed by " + model + ": " + thought }

// anthropicPrompt is what is cached, in the order of the cache, and where its marks are.
func anthropicPrompt(raw []byte) (prompt []byte, marks []int) {
	var parts struct{ Tools, System, Messages json.RawMessage }
	_ = json.Unmarshal(raw, &parts) // it was decoded before
	const mark = `"cache_control":{"type":"ephemeral"}`
	for _, part := range [][]byte{parts.Tools, parts.System, bytes.TrimSuffix(parts.Messages, []byte("]"))} {
		for {
			i := bytes.Index(part, []byte(mark))
			if i < 0 {
				break
			}
			prompt = append(prompt, bytes.TrimSuffix(part[:i], []byte(","))...)
			marks, part = append(marks, len(prompt)), part[i+len(mark):]
			if bytes.HasSuffix(prompt, []byte("{")) {
				part = bytes.TrimPrefix(part, []byte(",")) // it was the first member
			}
		}
		prompt = append(prompt, part...)
	}
	return prompt, marks
}

// judge refuses what the real server refuses.
func (anthropic) judge(r *http.Request, b anthropicRequest) string {
	switch {
	case r.Method+" "+r.URL.Path != "POST /v1/messages":
		return "unknown path " + r.URL.Path
	case r.Header.Get("Anthropic-Version") == "":
		return "anthropic-version: header is required"
	case !b.Stream || b.MaxTokens < 1 || b.Model == "":
		return "stream, max_tokens and model are required"
	case len(b.Messages) == 0 || b.Messages[0].Role != "user":
		return "messages: first message must use the \"user\" role"
	case b.Thinking != nil && b.Thinking.Type == "enabled" && (b.Thinking.Budget < 1024 || b.Thinking.Budget >= b.MaxTokens):
		return "thinking.budget_tokens must be at least 1024, and less than max_tokens"
	case b.Thinking != nil && b.Temperature != nil && *b.Temperature != 1:
		return "`temperature` may only be set to 1 when thinking is enabled"
	}
	var owed []string
	for i, m := range b.Messages {
		if i > 0 && m.Role == b.Messages[i-1].Role {
			return "messages: roles must alternate"
		}
		for j, c := range m.Content {
			switch c.Type {
			case "text":
				if strings.TrimSpace(c.Text) == "" {
					return "messages: text content blocks must contain non-whitespace text"
				}
			case "tool_result":
				if len(owed) == 0 || c.ToolUseID != owed[0] {
					return "unexpected `tool_use_id` found in `tool_result` blocks: " + c.ToolUseID
				}
				owed = owed[1:]
			case "tool_use":
				if len(c.Input) == 0 || c.Input[0] != '{' {
					return "tool_use.input: Input should be a valid dictionary"
				}
				thinks := b.Thinking != nil && b.Thinking.Type == "enabled" && i == len(b.Messages)-2
				if first := m.Content[0].Type; thinks && first != "thinking" && first != "redacted_thinking" {
					return "Expected `thinking` or `redacted_thinking`, but found `" + first + "`"
				}
			}
			if len(owed) > 0 && m.Role == "user" && j == len(m.Content)-1 {
				return "`tool_use` ids were found without `tool_result` blocks immediately after: " + owed[0]
			}
			if c.Type == "tool_use" {
				owed = append(owed, c.ID)
			}
		}
	}
	return ""
}

func (a anthropic) stream(ctx context.Context, e *events, model string, an Answer, u Usage) bool {
	if an.Block {
		an.Finish = "refusal"
	}
	e.send("message_start", object{"type": "message_start", "message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []any{}, "stop_reason": nil,
		"usage": object{
			"input_tokens": u.Prompt - u.Cached - u.Written, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": u.Written, "output_tokens": 1,
		},
	}})
	e.send("ping", object{"type": "ping"})
	n := 0
	block := func(start object, deltas ...object) {
		e.send("content_block_start", object{"type": "content_block_start", "index": n, "content_block": start})
		for _, d := range deltas {
			e.send("content_block_delta", object{"type": "content_block_delta", "index": n, "delta": d})
		}
		e.send("content_block_stop", object{"type": "content_block_stop", "index": n})
		n++
	}
	if an.Think != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": an.Think}, object{"type": "signature_delta", "signature": sign(model, an.Think)})
	}
	if len(an.Text) > 0 {
		var deltas []object
		for _, t := range an.Text {
			deltas = append(deltas, object{"type": "text_delta", "text": t}, object{"type": "citations_delta", "citation": object{
				"type": "char_location", "cited_text": "a cited page", "document_index": 0, "start_char_index": 0, "end_char_index": 1,
			}})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	wait(ctx, an)
	if an.Cut || an.Hang {
		return false
	}
	if an.Late != nil {
		e.send("error", object{"type": "error", "error": object{"type": an.Late.Kind, "message": an.Late.Message}})
		return true
	}
	for _, c := range an.Calls {
		var deltas []object
		for _, half := range halves(c.Arguments) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": half})
		}
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, deltas...)
	}
	finish := usual(an, "end_turn", "tool_use")
	e.send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": finish, "stop_sequence": nil}, "usage": object{"output_tokens": u.Completion}})
	e.send("message_stop", object{"type": "message_stop"})
	return true
}

// usual is the finish reason of an answer.
func usual(a Answer, stop, calls string) string {
	switch {
	case a.Finish != "":
		return a.Finish
	case len(a.Calls) > 0:
		return calls
	}
	return stop
}

// halves are the pieces in which parameters come; "{}" does not come at all.
func halves(arguments string) []string {
	if arguments == "{}" {
		return nil
	}
	half := len(arguments) / 2
	return []string{"", arguments[:half], arguments[half:]}
}
