package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"parley/core/llm"
)

// chunk is the part of an answer in one event of a stream. It is reused: the next event overwrites it.
type chunk struct {
	failed  bool // the event is an error
	counted bool // it has usage
	usage   llm.Usage
	choices []choice  // those with index 0, as one was requested
	only    [1]choice // the memory of choices in the usual case
}

// choice is the part of an event that belongs to the answer.
type choice struct {
	text   string // content, and refusal, which users see too
	thinks bool   // it has reasoning, readable or not
	reason string // in readable form
	calls  []piece
	finish string
}

// piece is a part of a tool call.
type piece struct {
	index           int64
	indexed         bool // the server sent the index
	id              string
	name, arguments string
	kept            keptCall // its other fields
}

// decode reads an event. decodeAny reads every form, but by reflection, which takes much longer than scan and would be
// most of the work for an answer. It is used only for events that scan does not understand.
func (c *chunk) decode(data []byte) error {
	if c.scan(data) {
		return nil
	}
	return c.decodeAny(data)
}

// decodeAny reads an event of any form. Only an event that is no object is an error.
func (c *chunk) decodeAny(data []byte) error {
	var from object
	if err := json.Unmarshal(data, &from); err != nil {
		return fmt.Errorf("an event of the stream can't be read: %w", err)
	}
	usage := from.object("usage")
	details := usage.object("prompt_tokens_details")
	*c = chunk{
		failed:  present(string(from["error"])),
		counted: usage != nil,
		usage: llm.Usage{
			Prompt: int(usage.int("prompt_tokens")), Completion: int(usage.int("completion_tokens")),
			Cached:       int(cmp.Or(details.int("cached_tokens"), usage.int("prompt_cache_hit_tokens"))), // the latter is DeepSeek's
			CacheWritten: int(details.int("cache_write_tokens")),
		},
	}
	for _, f := range from.list("choices") {
		if f.int("index") == 0 {
			c.choices = append(c.choices, choiceOf(f))
		}
	}
	return nil
}

// choiceOf reads a choice of any form.
func choiceOf(f object) choice {
	d := f.object("delta")
	to := choice{text: textField(d, "content") + textField(d, "refusal"), thinks: thinks(d), reason: reasons(d), finish: f.text("finish_reason")}
	for _, call := range d.list("tool_calls") {
		function := call.object("function")
		index, indexed := call.number("index")
		to.calls = append(to.calls, piece{
			index, indexed, call.text("id"), function.text("name"), function.text("arguments"),
			keptCall{Call: call.without("index", "id", "type", "function"), Function: function.without("name", "arguments")},
		})
	}
	return to
}

// contentPart is one of a content in parts. Mistral sends text and thinking as parts; other servers send strings, or one part
// without a list.
type contentPart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	Thinking json.RawMessage `json:"thinking"` // parts again, or text
}

// partsOf returns the text and the reasoning in a content that is not a string. Parts of other types, such as
// references, have nothing to read. Reasoning in reasoning, if that is not nested too deep, counts as such.
func partsOf(raw string, depth int) (text, reason string) {
	var list []json.RawMessage
	if json.Unmarshal([]byte(raw), &list) != nil {
		list = []json.RawMessage{json.RawMessage(raw)}
	}
	for _, one := range list {
		var words string
		if json.Unmarshal(one, &words) == nil {
			text += words
			continue
		}
		var p contentPart
		if json.Unmarshal(one, &p) != nil { // its fields have other types: it is none that is known
			continue
		}
		switch p.Type {
		case "thinking", "reasoning":
			reason += p.Text
			if len(p.Thinking) > 0 && depth < maxNesting {
				said, thought := partsOf(string(p.Thinking), depth+1)
				reason += said + thought
			}
		default:
			text += p.Text + p.Refusal
		}
	}
	return text, reason
}

// textField returns the text of a field, which can be in parts.
func textField(d object, name string) (text string) {
	if d.inParts(name) {
		text, _ = partsOf(string(d[name]), 0)
		return text
	}
	return d.text(name)
}

// thinks reports whether a delta has reasoning, under any of its names: reasoning_content (DeepSeek, vLLM), reasoning
// (OpenRouter, Ollama), reasoning_details, and parts of the content (Mistral).
func thinks(d object) bool {
	for _, name := range []string{"reasoning_content", "reasoning", "reasoning_details"} {
		if present(string(d[name])) {
			return true
		}
	}
	if !d.inParts("content") {
		return false
	}
	text, reason := partsOf(string(d["content"]), 0)
	return reason != "" || text == "" // parts of an unknown type are a sign of life at least
}

// reasons returns the readable reasoning of a delta. Servers that send it under two names send the same, so the first
// is used.
func reasons(d object) (text string) {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if text == "" && strings.HasPrefix(string(d[name]), `"`) {
			text = d.text(name)
		}
	}
	if text == "" && d.inParts("content") {
		_, text = partsOf(string(d["content"]), 0)
	}
	return text
}

// whole returns the events that a whole answer would have been, or nil if it is none: some servers send one although a
// stream was asked for.
func whole(answer []byte) []any {
	var from map[string]any
	if json.Unmarshal(answer, &from) != nil {
		return nil
	}
	choices, _ := from["choices"].([]any)
	for _, c := range choices {
		if c, ok := c.(map[string]any); ok && c["message"] != nil {
			c["delta"] = c["message"]
			delete(c, "message")
			return []any{from, "[DONE]"}
		}
	}
	return nil
}
