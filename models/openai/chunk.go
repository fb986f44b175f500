package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

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

// decode reads an event. The SDK decodes by reflection, which takes about ten times as long as scan and would be most of
// the work for an answer. It is used only for events that scan does not understand.
func (c *chunk) decode(data []byte) error {
	if c.scan(data) {
		return nil
	}
	return c.decodeAny(data)
}

// decodeAny reads an event with the SDK.
func (c *chunk) decodeAny(data []byte) error {
	var from sdk.ChatCompletionChunk
	if err := json.Unmarshal(data, &from); err != nil {
		return fmt.Errorf("an event of the stream can't be read: %w", err)
	}
	*c = chunk{
		failed:  present(from.JSON.ExtraFields["error"].Raw()),
		counted: from.JSON.Usage.Valid(),
		usage: llm.Usage{
			Prompt: int(from.Usage.PromptTokens), Completion: int(from.Usage.CompletionTokens),
			Cached: int(from.Usage.PromptTokensDetails.CachedTokens), CacheWritten: int(from.Usage.PromptTokensDetails.CacheWriteTokens),
		},
	}
	if c.usage.Cached == 0 { // DeepSeek has a field of its own
		_ = json.Unmarshal([]byte(from.Usage.JSON.ExtraFields["prompt_cache_hit_tokens"].Raw()), &c.usage.Cached) // 0
	}
	for _, f := range from.Choices {
		if f.Index != 0 {
			continue
		}
		d := f.Delta
		to := choice{
			text: textField(d.Content, d.JSON.Content) + textField(d.Refusal, d.JSON.Refusal), thinks: thinks(d), reason: reasons(d), finish: f.FinishReason,
		}
		for _, call := range d.ToolCalls {
			to.calls = append(to.calls, piece{
				call.Index, call.JSON.Index.Valid(), call.ID, call.Function.Name, call.Function.Arguments,
				keptCall{Call: others(call.JSON.ExtraFields), Function: others(call.Function.JSON.ExtraFields)},
			})
		}
		c.choices = append(c.choices, to)
	}
	return nil
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

// inParts reports whether a field is not the string that it should be.
func inParts(f respjson.Field) bool {
	raw := f.Raw()
	return strings.HasPrefix(raw, "[") || strings.HasPrefix(raw, "{")
}

// textField returns the text of a field. The SDK turns objects and arrays into their JSON, which must not be shown.
func textField(value string, f respjson.Field) string {
	if inParts(f) {
		value, _ = partsOf(f.Raw(), 0)
	}
	return value
}

// thinks reports whether a delta has reasoning, under any of its names: reasoning_content (DeepSeek, vLLM), reasoning
// (OpenRouter, Ollama), reasoning_details, and parts of the content (Mistral).
func thinks(d sdk.ChatCompletionChunkChoiceDelta) bool {
	for _, name := range []string{"reasoning_content", "reasoning", "reasoning_details"} {
		if present(d.JSON.ExtraFields[name].Raw()) {
			return true
		}
	}
	if !inParts(d.JSON.Content) {
		return false
	}
	text, reason := partsOf(d.JSON.Content.Raw(), 0)
	return reason != "" || text == "" // parts of an unknown type are a sign of life at least
}

// reasons returns the readable reasoning of a delta. Servers that send it under two names send the same, so the first
// is used.
func reasons(d sdk.ChatCompletionChunkChoiceDelta) (text string) {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		raw := d.JSON.ExtraFields[name].Raw()
		if text == "" && strings.HasPrefix(raw, `"`) {
			_ = json.Unmarshal([]byte(raw), &text) // it was decoded before
		}
	}
	if text == "" && inParts(d.JSON.Content) {
		_, text = partsOf(d.JSON.Content.Raw(), 0)
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
