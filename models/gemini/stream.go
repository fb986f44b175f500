package gemini

import (
	"encoding/json"
	"fmt"

	"parley/core/llm"
	"parley/models/wire"
)

// part is a part of an answer, as far as it must be sent back with the results of its calls. It is stored as
// [llm.Opaque] while an answer waits for a person, so its JSON must stay readable.
type part struct {
	Text      string `json:"text,omitempty"`
	Call      bool   `json:"call,omitempty"`
	Signature []byte `json:"signature,omitempty"`
}

// stream reads one answer. It is complete with a finish reason, or with the reason why the prompt was blocked; the end
// of the connection alone means that it was cut. It belongs to one goroutine.
type stream struct {
	names    wire.Names
	owner    string
	yield    func(llm.Chunk) bool
	parts    []part
	calls    int
	finished bool
	usage    *llm.Usage
}

// response yields the chunks of one event, and reports whether yield wants more.
func (s *stream) response(r *response) (more bool, err error) {
	if u := r.UsageMetadata; u != nil {
		s.usage = &llm.Usage{
			Prompt: u.PromptTokenCount + u.ToolUsePromptTokenCount, Completion: u.CandidatesTokenCount + u.ThoughtsTokenCount,
			Cached: u.CachedContentTokenCount,
		}
	}
	if f := r.PromptFeedback; f != nil && f.BlockReason != "" {
		s.finished = true
		return s.yield(llm.Chunk{Finish: llm.FinishFilter}), nil
	}
	for _, c := range r.Candidates {
		if c.Index != 0 {
			continue
		}
		if c.Content != nil {
			for _, p := range c.Content.Parts {
				if !s.part(p) {
					return false, nil
				}
			}
		}
		if c.FinishReason == "" || s.finished {
			continue
		}
		finish, broken := s.finish(c.FinishReason)
		if broken {
			return false, fmt.Errorf("the model ended with %s: %s", c.FinishReason, c.FinishMessage)
		}
		s.finished = true
		if !s.yield(llm.Chunk{Finish: finish}) {
			return false, nil
		}
	}
	return true, nil
}

// part yields a part of the answer. Calls arrive complete. Texts that follow each other are joined up to a signature,
// which ends a part.
func (s *stream) part(p *contentPart) bool {
	switch {
	case p == nil:
		return true
	case p.Thought: // a summary of thoughts; the signature that is sent back comes with another part
		return s.yield(llm.Chunk{Alive: true, Reasoning: p.Text})
	case p.FunctionCall != nil:
		arguments := []byte("{}")
		if len(p.FunctionCall.Args) > 0 {
			arguments, _ = json.Marshal(p.FunctionCall.Args) // decoded JSON can always be encoded
		}
		s.parts = append(s.parts, part{Call: true, Signature: p.ThoughtSignature})
		s.calls++
		return s.yield(llm.Chunk{Call: &llm.CallDelta{
			Index: s.calls - 1, ID: p.FunctionCall.ID, Name: s.names.Ours(p.FunctionCall.Name), Parameters: string(arguments),
		}})
	}
	if n := len(s.parts); n > 0 && !s.parts[n-1].Call && s.parts[n-1].Signature == nil {
		s.parts[n-1].Text += p.Text
		s.parts[n-1].Signature = p.ThoughtSignature
	} else {
		s.parts = append(s.parts, part{Text: p.Text, Signature: p.ThoughtSignature})
	}
	return p.Text == "" || s.yield(llm.Chunk{Text: p.Text})
}

// finish translates a finish reason. With some, the answer is broken, which is a failure and can be retried.
func (s *stream) finish(r string) (reason llm.FinishReason, broken bool) {
	switch r {
	case "MAX_TOKENS", "CONTINUATION":
		return llm.FinishLength, false
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return llm.FinishFilter, false
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return "", true
	}
	if s.calls > 0 {
		return llm.FinishCalls, false
	}
	return llm.FinishStop, false
}

// whole returns the events that a whole answer would have been, or nil if it is none: some servers send one, or a list
// of the parts of one, although a stream was asked for.
func whole(answer []byte) []any {
	type fields = map[string]any
	var list []any
	if json.Unmarshal(answer, &list) != nil {
		var one fields
		if json.Unmarshal(answer, &one) != nil {
			return nil
		}
		list = []any{one}
	}
	for _, part := range list {
		if part, _ := part.(fields); part["candidates"] == nil && part["promptFeedback"] == nil {
			return nil
		}
	}
	return list
}
