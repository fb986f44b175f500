package prices_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/require"
	"parley/models"
	"parley/models/anthropic"
	"parley/models/gemini"
	"parley/models/openai"
	"parley/models/prices"
	"parley/models/responses"
)

// Streams whose usage has the shape that the providers document. They are constructed, not recorded. The sums were computed by hand.
var constructed = []struct {
	name, provider, model string
	stream                string
	usage                 llm.Usage
	cost                  quota.USD
}{
	{
		// https://platform.openai.com/docs/guides/prompt-caching: 86 tokens at $0.15, 1920 at $0.075, 300 at $0.60 per million.
		"chat completions", "openai", "gpt-4o-mini",
		`data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}],"usage":null}

data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}

data: {"id":"1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":2006,"completion_tokens":300,"total_tokens":2306,"prompt_tokens_details":{"cached_tokens":1920,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":128,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}

data: [DONE]

`, llm.Usage{Prompt: 2006, Cached: 1920, Completion: 300}, 12_900 + 144_000 + 180_000,
	},
	{
		// The same with tokens written to the cache, which newer models bill: 100 at $5, 1000 at $0.50, 900 at $6.25, 10 at $30.
		"chat completions, cache writes", "openai", "written",
		`data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}

data: {"id":"1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":2000,"completion_tokens":10,"total_tokens":2010,"prompt_tokens_details":{"cached_tokens":1000,"cache_write_tokens":900}}}

data: [DONE]

`, llm.Usage{Prompt: 2000, Cached: 1000, CacheWritten: 900, Completion: 10}, 500_000 + 500_000 + 5_625_000 + 300_000,
	},
	{
		// https://platform.openai.com/docs/api-reference/responses: 1000 at $0.15, 1024 at $0.075, 50 at $0.60.
		"responses", "responses", "gpt-4o-mini",
		`event: response.completed
data: {"type":"response.completed","sequence_number":1,"response":{"id":"r","object":"response","status":"completed","output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]}]}],"usage":{"input_tokens":2024,"input_tokens_details":{"cached_tokens":1024},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":2074}}}

`, llm.Usage{Prompt: 2024, Cached: 1024, Completion: 50}, 150_000 + 76_800 + 30_000,
	},
	{
		// https://docs.claude.com/en/docs/build-with-claude/prompt-caching: input_tokens is what neither cache field counts. 50 at $3, 100,000 read at
		// $0.30, 248 written at $3.75, 503 at $15.
		"messages", "anthropic", "claude-sonnet-4-5-20250929",
		`event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":50,"cache_read_input_tokens":100000,"cache_creation_input_tokens":248,"cache_creation":{"ephemeral_5m_input_tokens":248,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":503}}

event: message_stop
data: {"type":"message_stop"}

`, llm.Usage{Prompt: 100_298, Cached: 100_000, CacheWritten: 248, Completion: 503}, 150_000 + 30_000_000 + 930_000 + 7_545_000,
	},
	{
		// https://ai.google.dev/api/generate-content#UsageMetadata: the prompt includes the cached content; thoughts are billed as output. Above
		// 200,000 tokens: 50,000 at $2.50, 200,001 at $0.25, 130 at $15.
		"gemini", "gemini", "gemini-2.5-pro",
		`data: {"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":250001,"cachedContentTokenCount":200001,"candidatesTokenCount":30,"thoughtsTokenCount":100,"totalTokenCount":250131},"modelVersion":"gemini-2.5-pro"}

`, llm.Usage{Prompt: 250_001, Cached: 200_001, Completion: 130}, 125_000_000 + 50_000_250 + 1_950_000,
	},
}

func TestCostsOfConstructedUsage(t *testing.T) {
	for _, c := range constructed {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, c.stream)
			}))
			defer server.Close()
			o := models.Options{Provider: c.provider, Model: c.model}
			var m models.Model
			switch c.provider {
			case "openai":
				m = openai.New(openai.Options{BaseURL: server.URL + "/v1", APIKey: "k", Model: c.model})
			case "responses":
				m = (&responses.Config{APIKey: "k", BaseURL: server.URL + "/v1"}).Open(o)
			case "anthropic":
				m = (&anthropic.Config{APIKey: "k", BaseURL: server.URL}).Open(o)
			case "gemini":
				m = (&gemini.Config{APIKey: "k", BaseURL: server.URL}).Open(o)
			}
			defer m.Close()
			var usage llm.Usage
			var text strings.Builder
			for chunk, err := range m.(llm.Model).Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hello"}}}) {
				require.NoError(t, err)
				text.WriteString(chunk.Text)
				if chunk.Usage != nil {
					usage = *chunk.Usage
				}
			}
			if usage != c.usage {
				t.Errorf("%q used %+v, not %+v", text.String(), usage, c.usage)
			}
			p, known := prices.Tokens(c.provider, c.model, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
			if c.model == "written" {
				p, known = quota.Price{Rates: quota.Rates{Input: 5_000_000, Cached: 500_000, CacheWrite: 6_250_000, Output: 30_000_000}}, true
			}
			if got := p.Of(usage); !known || got != c.cost {
				t.Errorf("it costs %d, not %d (the price is known: %v)", got, c.cost, known)
			}
		})
	}
}
