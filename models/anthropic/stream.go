package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"parley/core/llm"
	"parley/models/wire"
)

// block is a block of an answer, as far as it must be sent back with the results of its calls. It is stored as
// [llm.Opaque] while an answer waits for a person, so its JSON must stay readable.
type block struct {
	Kind      string `json:"kind"`           // thinking, redacted_thinking, text or tool_use
	Text      string `json:"text,omitempty"` // the text, the thinking, or the encrypted thinking
	Signature string `json:"signature,omitempty"`
}

// stream reads one answer. It is complete with message_stop only. It belongs to one goroutine.
type stream struct {
	names  wire.Names
	owner  string
	yield  func(llm.Chunk) bool
	done   bool
	blocks []block // in their order; the last one is being written
	calls  int     // the number of those begun
	filled bool    // the newest call has parameters
	usage  llm.Usage
}

// read reads the answer to its end.
func (s *stream) read(events *wire.EventReader) error {
	for !s.done && events.Next() {
		data := bytes.TrimSpace(events.Data)
		if len(data) == 0 || bytes.HasPrefix(data, []byte("[DONE]")) {
			continue // a keep-alive, or the end of other APIs
		}
		var e event
		err := json.Unmarshal(data, &e)
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !ok { // the other fields of such an event are read
			return fmt.Errorf("%w: %w", wire.ErrCut, err)
		}
		if e.Type == "error" || events.Kind == "error" {
			return wire.ParseRefusal(data)
		}
		if !s.event(e) {
			return nil
		}
	}
	return wire.End(s.done, events.Err, wire.Keep(s.owner, s.blocks, block.thought), &s.usage, s.yield)
}

// event yields the chunks of an event, and reports whether yield wants more. Unknown events are ignored, as
// the API adds new ones.
func (s *stream) event(e event) bool {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		s.usage = llm.Usage{
			Prompt: u.InputTokens + u.CacheReadTokens + u.CacheCreationTokens,
			Cached: u.CacheReadTokens, CacheWritten: u.CacheCreationTokens,
		}
		if u.OutputTokens != nil {
			s.usage.Completion = *u.OutputTokens
		}
	case "content_block_start":
		return s.start(e.ContentBlock)
	case "content_block_delta":
		return s.delta(e.Delta)
	case "content_block_stop":
		// A tool without parameters gets no piece of them, but a call without parameters would be invalid.
		if n := len(s.blocks); n > 0 && s.blocks[n-1].Kind == "tool_use" && !s.filled {
			s.filled = true
			return s.yield(llm.Chunk{Call: &llm.CallDelta{Index: s.calls - 1, Parameters: "{}"}})
		}
	case "message_delta":
		if e.Usage.OutputTokens != nil {
			s.usage.Completion = *e.Usage.OutputTokens
		}
		if e.Delta.StopReason != "" {
			return s.yield(llm.Chunk{Finish: finish(e.Delta.StopReason)})
		}
	case "message_stop":
		s.done = true
	}
	return true
}

// start begins a block.
func (s *stream) start(b contentBlock) bool {
	switch b.Type {
	case "text":
		s.blocks = append(s.blocks, block{Kind: b.Type, Text: b.Text})
		return b.Text == "" || s.yield(llm.Chunk{Text: b.Text})
	case "thinking":
		s.blocks = append(s.blocks, block{Kind: b.Type, Text: b.Thinking, Signature: b.Signature})
		return s.yield(llm.Chunk{Alive: true, Reasoning: b.Thinking})
	case "redacted_thinking":
		s.blocks = append(s.blocks, block{Kind: b.Type, Text: b.Data})
	case "tool_use":
		s.blocks = append(s.blocks, block{Kind: b.Type})
		s.calls, s.filled = s.calls+1, false
		call := &llm.CallDelta{Index: s.calls - 1, ID: b.ID, Name: s.names.Ours(b.Name)}
		var input map[string]json.RawMessage
		if json.Unmarshal(b.Input, &input) == nil && len(input) > 0 { // usually it follows in pieces
			call.Parameters, s.filled = string(b.Input), true
		}
		return s.yield(llm.Chunk{Call: call})
	default: // of a tool that was not offered
		s.blocks = append(s.blocks, block{})
	}
	return s.yield(llm.Chunk{Alive: true})
}

// delta adds to the last block.
func (s *stream) delta(d delta) bool {
	if len(s.blocks) == 0 {
		return true
	}
	last := &s.blocks[len(s.blocks)-1]
	switch {
	case d.Type == "text_delta" && d.Text != "":
		last.Text += d.Text
		return s.yield(llm.Chunk{Text: d.Text})
	case d.Type == "input_json_delta" && last.Kind == "tool_use" && d.PartialJSON != "":
		s.filled = true
		return s.yield(llm.Chunk{Call: &llm.CallDelta{Index: s.calls - 1, Parameters: d.PartialJSON}})
	case d.Type == "thinking_delta":
		last.Text += d.Thinking
		return s.yield(llm.Chunk{Alive: true, Reasoning: d.Thinking})
	case d.Type == "signature_delta":
		last.Signature += d.Signature
	}
	return true // citations are not shown
}

// thought reports whether b is thinking, readable or not. Without thinking, text and calls say it all, and no block is sent back.
func (b block) thought() bool { return b.Kind == "thinking" || b.Kind == "redacted_thinking" }

// finish translates the reason why the answer ended.
func finish(reason string) llm.FinishReason {
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "tool_use":
		return llm.FinishCalls
	case "refusal":
		return llm.FinishFilter
	}
	return llm.FinishStop // pause_turn is for tools of the provider, which are not offered
}

// whole returns the events that a whole answer would have been, or nil if it is none: some servers send one although a
// stream was asked for.
func whole(answer []byte) (events []any) {
	var message map[string]any
	if json.Unmarshal(answer, &message) != nil || message["type"] != "message" {
		return nil
	}
	type fields = map[string]any
	events = append(events, fields{"type": "message_start", "message": message})
	content, _ := message["content"].([]any)
	for i, block := range content {
		events = append(events, fields{"type": "content_block_start", "index": i, "content_block": block}, fields{"type": "content_block_stop", "index": i})
	}
	return append(events,
		fields{"type": "message_delta", "delta": fields{"stop_reason": message["stop_reason"]}, "usage": message["usage"]}, fields{"type": "message_stop"})
}
