package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"

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

// event yields the chunks of an event, and reports whether yield wants more. Unknown events are ignored, as
// the API adds new ones.
func (s *stream) event(e sdk.MessageStreamEventUnion) bool {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		s.usage = llm.Usage{
			Prompt: int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens), Completion: int(u.OutputTokens),
			Cached: int(u.CacheReadInputTokens), CacheWritten: int(u.CacheCreationInputTokens),
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
		if e.Usage.JSON.OutputTokens.Valid() {
			s.usage.Completion = int(e.Usage.OutputTokens)
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
func (s *stream) start(b sdk.ContentBlockStartEventContentBlockUnion) bool {
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
		if input, ok := b.Input.(map[string]any); ok && len(input) > 0 { // usually it follows in pieces
			parameters, err := json.Marshal(input)
			call.Parameters, s.filled = string(parameters), err == nil
		}
		return s.yield(llm.Chunk{Call: call})
	default: // of a tool that was not offered
		s.blocks = append(s.blocks, block{})
	}
	return s.yield(llm.Chunk{Alive: true})
}

// delta adds to the last block.
func (s *stream) delta(d sdk.MessageStreamEventUnionDelta) bool {
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

// end yields the last chunk of the answer, or returns the reason why it is incomplete. The provider's own words are
// preferred to the error of the connection.
func (s *stream) end(err error) error {
	switch {
	case s.done:
	case err != nil:
		if said := refusal(err); said != err {
			return said
		}
		if refused, ok := errors.AsType[*wire.Refusal](err); ok {
			return refused
		}
		return fmt.Errorf("%w: %w", wire.ErrCut, err)
	default:
		return wire.ErrCut
	}
	if o := s.opaque(); o != nil && !s.yield(llm.Chunk{Opaque: o}) {
		return nil
	}
	s.yield(llm.Chunk{Usage: &s.usage})
	return nil
}

// opaque returns the blocks to be sent back. Without thinking, text and calls say it all.
func (s *stream) opaque() *llm.Opaque {
	thought := false
	for _, b := range s.blocks {
		thought = thought || b.thought()
	}
	data, err := json.Marshal(s.blocks)
	if !thought || err != nil {
		return nil
	}
	return &llm.Opaque{Owner: s.owner, Data: data}
}

// thought reports whether b is thinking, readable or not.
func (b block) thought() bool { return b.Kind == "thinking" || b.Kind == "redacted_thinking" }

// finish translates the reason why the answer ended.
func finish(r sdk.StopReason) llm.FinishReason {
	switch r {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return llm.FinishLength
	case sdk.StopReasonToolUse:
		return llm.FinishCalls
	case sdk.StopReasonRefusal:
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
