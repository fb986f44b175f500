package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"parley/core/llm"
)

// afterFinish is how long usage and [DONE] may follow the finish reason. Nothing more is said then, and some servers
// leave the line open.
const afterFinish = 5 * time.Second

var (
	errCut  = errors.New("the stream ended before the answer did")
	errRest = errors.New("the answer is complete")
)

// stream reads one answer. Whether it is complete hangs on its finish reason or [DONE], never on the line's end (LM-02).
type stream struct {
	names   names
	calls   calls
	finish  llm.FinishReason
	done    bool // [DONE] has come
	usage   *llm.Usage
	release context.CancelCauseFunc // ends the request
}

// wantEvents tells a stream from the other things that servers send with a 200.
func wantEvents(res *http.Response) error {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch media {
	case "application/json", "text/html":
	default:
		return nil // some leave it out, or write text/plain
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // half a message is better than none
	if r := parseRefusal(body); r.message != "" {
		return r
	}
	return fmt.Errorf("the server answered with %s instead of a stream of events", media)
}

// read yields what d's events say until the answer is complete, which is nil, or yield wants no more.
func (s *stream) read(d ssestream.Decoder, yield func(llm.Chunk) bool) error {
	for !s.done && d.Next() {
		chunks, err := s.event(d.Event())
		if err != nil {
			return err
		}
		for _, c := range chunks {
			if !yield(c) {
				return nil
			}
			if c.Finish != "" {
				rest := time.AfterFunc(afterFinish, func() { s.release(errRest) })
				defer rest.Stop()
			}
		}
	}
	switch err := d.Err(); {
	case s.done || s.finish != "":
	case err != nil:
		return fmt.Errorf("%w: %w", errCut, err)
	default:
		return errCut
	}
	if s.usage != nil {
		yield(llm.Chunk{Usage: s.usage})
	}
	return nil
}

// event reads one event.
func (s *stream) event(e ssestream.Event) ([]llm.Chunk, error) {
	data := strings.TrimSpace(string(e.Data))
	if strings.HasPrefix(data, "[DONE]") {
		s.done = true
		return nil, nil
	}
	if data == "" {
		return nil, nil // a keep-alive
	}
	var chunk sdk.ChatCompletionChunk
	if err := json.Unmarshal([]byte(data), &chunk); err != nil {
		return nil, fmt.Errorf("an event of the stream can't be read: %w", err)
	}
	if e.Type == "error" || present(chunk.JSON.ExtraFields["error"]) {
		return nil, parseRefusal([]byte(data))
	}
	if chunk.JSON.Usage.Valid() {
		// The last one counts: some send a growing one with every chunk.
		s.usage = &llm.Usage{Prompt: int(chunk.Usage.PromptTokens), Completion: int(chunk.Usage.CompletionTokens)}
	}
	var chunks []llm.Chunk
	for _, choice := range chunk.Choices {
		if choice.Index == 0 { // one was asked for
			chunks = append(chunks, s.choice(choice)...)
		}
	}
	return chunks, nil
}

// choice reads what one chunk adds to the answer.
func (s *stream) choice(c sdk.ChatCompletionChunkChoice) []llm.Chunk {
	var chunks []llm.Chunk
	came := textField(c.Delta.Content, c.Delta.JSON.Content) + textField(c.Delta.Refusal, c.Delta.JSON.Refusal)
	said := llm.Chunk{Text: came, Alive: thinks(c.Delta)}
	if said != (llm.Chunk{}) {
		chunks = append(chunks, said)
	}
	for _, call := range c.Delta.ToolCalls {
		if d := s.calls.delta(call); d != nil {
			d.Name = s.names.ours(d.Name)
			chunks = append(chunks, llm.Chunk{Call: d})
		}
	}
	if c.FinishReason != "" && s.finish == "" {
		s.finish = llm.FinishReason(c.FinishReason)
		chunks = append(chunks, llm.Chunk{Finish: s.finish})
	}
	return chunks
}

// textField returns value if a string was sent. The SDK turns objects and arrays into their JSON, which must not be
// shown.
func textField(value string, f respjson.Field) string {
	if raw := f.Raw(); strings.HasPrefix(raw, "[") || strings.HasPrefix(raw, "{") {
		return ""
	}
	return value
}

// thinks reports whether a delta holds reasoning, under one of the names that vendors gave it: DeepSeek and vLLM, OpenRouter
// and Ollama, and Mistral's list of parts in place of the text.
func thinks(d sdk.ChatCompletionChunkChoiceDelta) bool {
	return present(d.JSON.ExtraFields["reasoning_content"]) || present(d.JSON.ExtraFields["reasoning"]) ||
		present(d.JSON.ExtraFields["reasoning_details"]) || strings.HasPrefix(d.JSON.Content.Raw(), "[")
}

// present reports whether a field is there and holds something.
func present(f respjson.Field) bool {
	switch strings.TrimSpace(f.Raw()) {
	case "", "null", `""`, "[]", "{}", "false":
		return false
	}
	return true
}
