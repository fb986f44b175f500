package anthropic

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"parley/models/wire"
)

const (
	version  = "2023-06-01" // of the API
	maxEvent = 32 << 20     // bytes of an event: a whole answer becomes events too
)

// The API's requests, as far as they are used here.
type (
	request struct {
		Model         string    `json:"model"`
		MaxTokens     int       `json:"max_tokens"`
		Temperature   *float64  `json:"temperature,omitempty"`
		TopP          *float64  `json:"top_p,omitempty"`
		StopSequences []string  `json:"stop_sequences,omitempty"`
		Thinking      *thinking `json:"thinking,omitempty"`
		OutputConfig  *output   `json:"output_config,omitempty"`
		Tools         []tool    `json:"tools,omitempty"`
		System        []*part   `json:"system,omitempty"`
		Messages      []message `json:"messages"`
		Stream        bool      `json:"stream"`
	}
	thinking struct {
		Budget  int    `json:"budget_tokens,omitempty"`
		Display string `json:"display,omitempty"`
		Type    string `json:"type"` // enabled or adaptive
	}
	output struct {
		Effort string `json:"effort"`
	}
	tool struct {
		Name         string         `json:"name"`
		Description  string         `json:"description,omitempty"`
		InputSchema  map[string]any `json:"input_schema"`
		CacheControl *cacheControl  `json:"cache_control,omitempty"`
	}
	message struct {
		Role    string  `json:"role"`
		Content []*part `json:"content"`
	}
	// part is a content block. The API requires the fields of its type, also where they are empty.
	part struct {
		Type         string          `json:"type"`
		Text         *string         `json:"text,omitempty"`
		Source       *source         `json:"source,omitempty"`
		ID           string          `json:"id,omitempty"`
		Name         string          `json:"name,omitempty"`
		Input        json.RawMessage `json:"input,omitempty"`
		ToolUseID    string          `json:"tool_use_id,omitempty"`
		Content      []*part         `json:"content,omitempty"`
		Thinking     *string         `json:"thinking,omitempty"`
		Signature    *string         `json:"signature,omitempty"`
		Data         *string         `json:"data,omitempty"`
		CacheControl *cacheControl   `json:"cache_control,omitempty"`
	}
	source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"` // in Base64
	}
	cacheControl struct {
		Type string `json:"type"`
	}
)

// The API's events, as far as they are used here.
type (
	event struct {
		Type    string `json:"type"`
		Message struct {
			Usage usage `json:"usage"`
		} `json:"message"`
		ContentBlock contentBlock `json:"content_block"`
		Delta        delta        `json:"delta"`
		Usage        usage        `json:"usage"`
	}
	usage struct {
		InputTokens         int  `json:"input_tokens"`
		CacheReadTokens     int  `json:"cache_read_input_tokens"`
		CacheCreationTokens int  `json:"cache_creation_input_tokens"`
		OutputTokens        *int `json:"output_tokens"` // nil if the event does not have it
	}
	contentBlock struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		StopReason  string `json:"stop_reason"`
	}
)

// names lists the models of the server.
func (m *Model) names(ctx context.Context) (names []string, err error) {
	return m.IDsAt(ctx, wire.Call{Method: http.MethodGet, Path: "v1/models", Query: url.Values{"limit": {"1000"}}})
}
