package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/core/llm"
	"parley/internal/require"
	"parley/models"
	"parley/models/modeltest"
	"parley/models/wire"
)

func opened(base, model string, change ...func(*Config)) *Model {
	c, budget := &Config{APIKey: modeltest.Key, BaseURL: base}, 2000
	for _, f := range change {
		f(c)
	}
	return open(c, models.Options{Model: model, Provider: "anthropic", Setting: "models.large.model", Parameters: models.Parameters{ThinkingBudget: &budget}})
}

func TestModel(t *testing.T) {
	modeltest.Run(t, modeltest.Suite{
		New:  modeltest.Anthropic,
		Open: func(base, model string) llm.Model { return opened(base, model) },
		Check: func(ctx context.Context, m llm.Model, tools, images string) (string, error) {
			return m.(*Model).Check(ctx, wire.Uses{Tools: tools, Images: images})
		},
		Tuned: func(base, model string) llm.Model {
			half, o := 0.5, models.Options{Model: model}
			o.Parameters = models.Parameters{Temperature: &half, TopP: &half, Stop: []string{"END"}, Effort: "low", ThinkingBudget: new(int), Extra: map[string]any{"top_k": 40, "system": nil}}
			return open(&Config{APIKey: modeltest.Key, BaseURL: base}, o)
		},
		Sent:    `{"temperature":0.5,"top_p":0.5,"stop_sequences":["END"],"output_config":{"effort":"low"},"top_k":40,"stream":true}`,
		Removed: "system",
		Finishes: map[string]llm.FinishReason{
			"end_turn": llm.FinishStop, "stop_sequence": llm.FinishStop, "max_tokens": llm.FinishLength, "tool_use": llm.FinishCalls,
			"refusal": llm.FinishFilter, "pause_turn": llm.FinishStop, "model_context_window_exceeded": llm.FinishLength, "new": llm.FinishStop,
		},
		Own:      map[string]int{"cache_control": 400, "display": 422},
		Overload: modeltest.Refusal{Status: 529, Kind: "overloaded_error", Message: "Overloaded", RetryAfter: "7"},
		Late:     modeltest.Refusal{Kind: "overloaded_error", Message: "Overloaded"},
	})
}

// Variables of Anthropic's own programs have no effect: only the configuration counts.
func TestEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/leak")
	t.Setenv("ANTHROPIC_API_KEY", "leaked")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "leaked")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: leaked")
	fake := modeltest.Anthropic()
	server := httptest.NewServer(fake)
	defer server.Close()
	if text, err := opened(server.URL, "model-a").Check(t.Context(), wire.Uses{}); err != nil || !strings.Contains(text, "model-a answers at "+server.URL) {
		t.Errorf("%q, %v", text, err)
	}
}

// What a check finds says what to do, and shows no key.
func TestCheck(t *testing.T) {
	fake := modeltest.Anthropic()
	server := httptest.NewServer(fake)
	defer server.Close()
	wrongKey := func(c *Config) { c.APIKey = "sk-ant-wrong-0123456789abcdef" }
	for want, m := range map[string]*Model{
		"rejected the key: correct providers.anthropic.api_key (ANTHROPIC_API_KEY)": opened(server.URL, "model-a", wrongKey),
		"set models.large.model to one of model-a, model-b":                         opened(server.URL, ""),
	} {
		_, err := m.Check(t.Context(), wire.Uses{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "0123456789") {
			t.Errorf("%v; want %s", err, want)
		}
	}
	fake.Queue(modeltest.Answer{Fails: &modeltest.Refusal{Status: 404, Kind: "not_found_error", Message: "model: model-c"}},
		modeltest.Answer{Fails: &modeltest.Refusal{Status: 400, Kind: "invalid_request_error", Message: "Your credit balance is too low to access the API"}})
	for _, want := range []string{`the model "model-c" does not exist at`, "is out of credit"} {
		if _, err := opened(server.URL, "model-c").Check(t.Context(), wire.Uses{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	fake.Queue(modeltest.Answer{Fails: &modeltest.Refusal{Status: 400, Kind: "invalid_request_error", Message: "prompt is too long: 210000 tokens > 200000 maximum"}})
	for _, err := range opened(server.URL, "model-a").Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "a"}}}) {
		if f, ok := errors.AsType[*llm.Failure](err); !ok || f.Kind != llm.ConversationTooLong {
			t.Error(err)
		}
	}
}

// A model without adaptive thinking answers with an effort alone.
func TestAdaptiveThinkingIsRefused(t *testing.T) {
	fake := modeltest.Anthropic()
	server := httptest.NewServer(fake)
	defer server.Close()
	m := opened(server.URL, "model-a")
	m.options.Effort, m.options.ThinkingBudget = "low", nil
	fake.Queue(modeltest.Answer{Fails: &modeltest.Refusal{Status: 400, Kind: "invalid_request_error", Message: "adaptive thinking is not supported on this model"}})
	for range 2 {
		for _, err := range m.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "a"}}}) {
			require.NoError(t, err)
		}
	}
	seen := fake.Seen()
	if len(seen) != 3 {
		t.Fatalf("%d requests; want 3", len(seen))
	}
	for i, r := range seen {
		if body := string(r.Raw); strings.Contains(body, `"adaptive"`) != (i == 0) || !strings.Contains(body, `"effort":"low"`) {
			t.Errorf("request %d: %s", i, body)
		}
	}
}

// The limit on tokens holds with thinking, which is a part of it; a small one leaves no room to think.
func TestThinking(t *testing.T) {
	for name, test := range map[string]struct {
		budget   int // negative: auto
		effort   string
		limit    int
		want     string
		tokens   int
		readable bool
	}{
		"by default":       {-1, "", 0, "", maxTokens, true},
		"off":              {0, "", 0, "", maxTokens, true},
		"a budget":         {2000, "", 0, `{"budget_tokens":2000,"type":"enabled"}`, maxTokens + 2000, false},
		"within a limit":   {2000, "", 3000, `{"budget_tokens":1500,"type":"enabled"}`, 3000, false},
		"no room to think": {2000, "", 1500, "", 1500, false},
		"to be read":       {2000, "", 0, `{"budget_tokens":2000,"display":"summarized","type":"enabled"}`, maxTokens + 2000, true},
		"adaptive":         {-1, "high", 0, `{"type":"adaptive"}`, maxTokens, false},
		"adaptive, read":   {-1, "high", 0, `{"display":"summarized","type":"adaptive"}`, maxTokens, true},
		"adaptive, small":  {-1, "high", minBudget - 1, "", minBudget - 1, false},
		"budget, effort":   {2000, "low", 0, `{"budget_tokens":2000,"type":"enabled"}`, maxTokens + 2000, false},
		"only an effort":   {0, "low", 0, "", maxTokens, false},
	} {
		m := opened("http://a.test", "m")
		m.options.Effort = test.effort
		if m.options.ThinkingBudget = nil; test.budget >= 0 {
			m.options.ThinkingBudget = &test.budget
		}
		p := m.request("m", llm.Request{MaxTokens: test.limit, Readable: test.readable}, wire.Names{})
		body := require.Value(json.Marshal(p))(t)
		var sent struct {
			MaxTokens int `json:"max_tokens"`
			Thinking  json.RawMessage
		}
		require.NoError(t, json.Unmarshal(body, &sent))
		if string(sent.Thinking) != test.want || sent.MaxTokens != test.tokens {
			t.Errorf("%s: %s", name, body)
		}
	}
}
