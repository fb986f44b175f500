package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"parley/core/llm"
)

// chunk is what one event of a stream adds to the answer. It is reused: the next event overwrites it.
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
	reason string // that people can read
	calls  []piece
	finish string
}

// piece is a part of a tool call.
type piece struct {
	index           int64
	indexed         bool // the server sent the index
	id              string
	name, arguments string
}

// decode reads an event. The SDK decodes by reflection, which takes about 20 times as long as scan and would be most of
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
			text: textField(d.Content, d.JSON.Content) + textField(d.Refusal, d.JSON.Refusal), thinks: thinks(d), finish: f.FinishReason,
		}
		to.reason = reasons(d)
		for _, call := range d.ToolCalls {
			to.calls = append(to.calls, piece{call.Index, call.JSON.Index.Valid(), call.ID, call.Function.Name, call.Function.Arguments})
		}
		c.choices = append(c.choices, to)
	}
	return nil
}

// textField returns value if the server sent a string. The SDK turns objects and arrays into their JSON, which must not
// be shown.
func textField(value string, f respjson.Field) string {
	if raw := f.Raw(); strings.HasPrefix(raw, "[") || strings.HasPrefix(raw, "{") {
		return ""
	}
	return value
}

// thinks reports whether a delta has reasoning, under any of its names: reasoning_content (DeepSeek, vLLM), reasoning
// (OpenRouter, Ollama), reasoning_details, and Mistral's list of parts in place of the content.
func thinks(d sdk.ChatCompletionChunkChoiceDelta) bool {
	return present(d.JSON.ExtraFields["reasoning_content"].Raw()) || present(d.JSON.ExtraFields["reasoning"].Raw()) ||
		present(d.JSON.ExtraFields["reasoning_details"].Raw()) || strings.HasPrefix(d.JSON.Content.Raw(), "[")
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
	return text
}
