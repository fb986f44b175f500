package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/core/llm"
	"parley/models"
	"parley/models/modeltest"
	"parley/models/wire"
)

func opened(base, model string) *Model {
	return open(&Config{APIKey: modeltest.Key, BaseURL: base}, models.Options{Model: model, Provider: "gemini", Setting: "models.large.model"})
}

func TestModel(t *testing.T) {
	finishes := map[string]llm.FinishReason{"STOP": llm.FinishStop, "": llm.FinishCalls, "MAX_TOKENS": llm.FinishLength, "OTHER": llm.FinishStop, "NEW": llm.FinishStop}
	for _, word := range []string{"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"} {
		finishes[word] = llm.FinishFilter
	}
	modeltest.Run(t, modeltest.Suite{
		New: modeltest.Gemini, Open: func(base, model string) llm.Model { return opened(base, model) }, Finishes: finishes, NoCalls: true, Removed: "systemInstruction",
		Check: func(ctx context.Context, m llm.Model, tools, images string) (string, error) {
			return m.(*Model).Check(ctx, wire.Uses{Tools: tools, Images: images})
		},
		Tuned: func(base, model string) llm.Model {
			half, seed, o := 0.5, 7, models.Options{Model: "gemini-3-pro"}
			o.Parameters = models.Parameters{
				Temperature: &half, TopP: &half, Stop: []string{"END"}, Seed: &seed, Effort: "low",
				Extra: map[string]any{"generationConfig": map[string]any{"topK": 40}, "labels": map[string]any{"a": "b"}, "systemInstruction": nil},
			}
			return open(&Config{APIKey: modeltest.Key, BaseURL: base}, o)
		},
		Sent: `{"generationConfig":{"temperature":0.5,"topP":0.5,"stopSequences":["END"],"seed":7,"topK":40,"thinkingConfig":{"thinkingLevel":"LOW"}},"labels":{"a":"b"}}`,
		Own:  map[string]int{"thinkingConfig": 400, "maxOutputTokens": 400}, OwnModel: "gemini-2.5-pro",
		Overload: modeltest.Refusal{Status: 429, Kind: "RESOURCE_EXHAUSTED", Message: "You exceeded your current quota", RetryAfter: "7"},
		Late:     modeltest.Refusal{Status: 503, Kind: "UNAVAILABLE", Message: "The model is overloaded."},
	})
}

// A call that the model could not write is a failure, which may go better once more.
func TestMalformedCall(t *testing.T) {
	for _, word := range []string{"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"} {
		fake := modeltest.Gemini()
		server := httptest.NewServer(fake)
		fake.Queue(modeltest.Answer{Finish: word})
		var got error
		for _, err := range opened(server.URL, "model-a").Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "a"}}}) {
			got = err
		}
		server.Close()
		if f, ok := errors.AsType[*llm.Failure](got); !ok || !f.Retry || !strings.Contains(f.Err.Error(), word) {
			t.Errorf("%s: %v", word, got)
		}
	}
}

func TestEmbed(t *testing.T) {
	server := httptest.NewServer(modeltest.Gemini())
	defer server.Close()
	m := opened(server.URL, "model-a")
	texts := strings.Split(strings.Repeat("a ", 69)+"a", " ")
	if got, err := m.Embed(t.Context(), texts); err != nil || len(got) != 70 || got[1][0] != 1 || got[65][0] != 1 {
		t.Errorf("%d vectors, %v", len(got), err)
	}
	if text, err := m.CheckEmbeds(t.Context()); err != nil || !strings.Contains(text, "vectors of 3 dimensions") {
		t.Errorf(`%q, %v; want it to contain "vectors of 3 dimensions"`, text, err)
	}
}

// What a check finds says what to do, and shows no key. The variables that the SDK reads don't count.
func TestCheck(t *testing.T) {
	t.Setenv("GOOGLE_API_KEY", "leaked-0123456789abcdef")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1/leak")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	server := httptest.NewServer(modeltest.Gemini())
	defer server.Close()
	if text, err := opened(server.URL, "model-a").Check(t.Context(), wire.Uses{}); err != nil || !strings.Contains(text, "model-a answers at "+server.URL) {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := opened(server.URL, "").Check(t.Context(), wire.Uses{}); err == nil || !strings.Contains(err.Error(), "set models.large.model to one of model-a, model-b") {
		t.Error(err)
	}
	m := open(&Config{APIKey: "wrong-0123456789abcdef", BaseURL: server.URL}, models.Options{Model: "model-a", Provider: "gemini"})
	_, err := m.Check(t.Context(), wire.Uses{})
	if err == nil || !strings.Contains(err.Error(), "rejected the key: correct providers.gemini.api_key (GEMINI_API_KEY)") || strings.Contains(err.Error(), "0123456789") {
		t.Error(err)
	}
}

// Without a budget, the model decides how much it thinks.
func TestThinkingBudget(t *testing.T) {
	own := func(n int) *int { return &n }
	for name, test := range map[string]struct {
		budget *int
		effort string
		want   string
	}{
		"by default": {nil, "", `{"includeThoughts":true}`},
		"none":       {own(0), "", `{"includeThoughts":true,"thinkingBudget":0}`},
		"a budget":   {own(512), "", `{"includeThoughts":true,"thinkingBudget":512}`},
		"an effort":  {own(512), "low", `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
	} {
		m := opened("http://a.test", "m")
		m.options.ThinkingBudget, m.options.Effort = test.budget, test.effort
		got, err := json.Marshal(m.request("gemini-2.5-flash", llm.Request{}, wire.Names{}).GenerationConfig.ThinkingConfig)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, test.want)
		}
	}
}

// Newer models refuse calls without a signature: those of another model get the one that says so.
func TestCallsOfAnotherModel(t *testing.T) {
	m := opened("http://a.test", "m")
	for name, want := range map[string]bool{"gemini-3-pro": true, "models/gemini-3-pro": true, "gemini-2.5-flash": false, "gemini-2.0-flash": false, "gemma-3": false} {
		parts := m.assistant(llm.Message{Calls: []llm.ToolCall{{Name: "A"}, {Name: "B"}}}, name, wire.Names{})
		if signed := string(parts[0].ThoughtSignature) == string(unsigned()); signed != want || parts[1].ThoughtSignature != nil || len(unsigned()) == 0 {
			t.Errorf("%s: %v", name, signed)
		}
	}
}
