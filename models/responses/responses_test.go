package responses

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/core/llm"
	"parley/internal/require"
	"parley/models"
	"parley/models/modeltest"
	"parley/models/wire"
)

func opened(base, model string) *Model {
	return open(&Config{APIKey: modeltest.Key, BaseURL: base + "/v1"}, models.Options{Model: model, Provider: "responses", Setting: "models.large.model"})
}

func TestModel(t *testing.T) {
	modeltest.Run(t, modeltest.Suite{
		New:  modeltest.Responses,
		Open: func(base, model string) llm.Model { return opened(base, model) },
		Check: func(ctx context.Context, m llm.Model, tools, images string) (string, error) {
			return m.(*Model).Check(ctx, wire.Uses{Tools: tools, Images: images})
		},
		Tuned: func(base, model string) llm.Model {
			half, o := 0.5, models.Options{Model: model}
			o.Parameters = models.Parameters{Temperature: &half, TopP: &half, Effort: "low", Extra: map[string]any{"service_tier": "flex", "include": nil}}
			return open(&Config{APIKey: modeltest.Key, BaseURL: base + "/v1"}, o)
		},
		Sent:    `{"temperature":0.5,"top_p":0.5,"reasoning":{"effort":"low"},"service_tier":"flex","stream":true}`,
		Removed: "include",
		Finishes: map[string]llm.FinishReason{
			"completed": llm.FinishStop, "": llm.FinishCalls, "max_output_tokens": llm.FinishLength, "content_filter": llm.FinishFilter, "new": llm.FinishLength,
		},
		Own:      map[string]int{"include": 400, "summary": 400, "strict": 422, "max_output_tokens": 400},
		Overload: modeltest.Refusal{Status: 503, Kind: "server_is_overloaded", Message: "Overloaded", RetryAfter: "7"},
		Late:     modeltest.Refusal{Kind: "server_error", Message: "Something broke"},
	})
}

// A model that does not reason refuses to be asked for reasoning; then it is asked without.
func TestModelWithoutReasoning(t *testing.T) {
	fake := modeltest.Responses()
	server := httptest.NewServer(fake)
	defer server.Close()
	fake.Queue(modeltest.Answer{Fails: &modeltest.Refusal{Status: 400, Kind: "", Message: "Encrypted content is not supported with this model."}})
	m := opened(server.URL, "model-a")
	require.Value(m.Check(t.Context(), wire.Uses{}))(t)
	seen := fake.Seen()
	if len(seen) != 2 || !strings.Contains(string(seen[0].Raw), "reasoning.encrypted_content") || strings.Contains(string(seen[1].Raw), "include") {
		t.Errorf("%d requests", len(seen))
	}
}

// An organization that gets no summaries of the reasoning is answered without one.
func TestSummariesAreRefused(t *testing.T) {
	fake := modeltest.Responses()
	server := httptest.NewServer(fake)
	defer server.Close()
	fake.Queue(modeltest.Answer{Fails: &modeltest.Refusal{Status: 400, Kind: "unsupported_value",
		Message: "Your organization must be verified to generate reasoning summaries."}})
	m := opened(server.URL, "model-a")
	for range 2 {
		said := ""
		for c, err := range m.Generate(t.Context(), llm.Request{Readable: true, Messages: []llm.Message{{Role: llm.RoleUser, Text: "a"}}}) {
			if said += c.Text; err != nil {
				t.Fatal(err)
			}
		}
		if said != "OK" {
			t.Errorf(`%q; want "OK"`, said)
		}
	}
	if seen := fake.Seen(); len(seen) != 3 || !seen[0].Readable || seen[1].Readable || seen[2].Readable {
		t.Errorf("%d requests", len(seen))
	}
}

// TestEnvironment: the SDK reads these by itself; only what was configured may count.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/leak")
	t.Setenv("OPENAI_API_KEY", "leaked")
	server := httptest.NewServer(modeltest.Responses())
	defer server.Close()
	if text, err := opened(server.URL, "model-a").Check(t.Context(), wire.Uses{}); err != nil || !strings.Contains(text, "model-a answers at "+server.URL) {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := opened(server.URL, "").Check(t.Context(), wire.Uses{}); err == nil || !strings.Contains(err.Error(), "set models.large.model to one of model-a, model-b") {
		t.Error(err)
	}
}
