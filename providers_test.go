package parley_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley"
	"parley/config"
	"parley/core/llm"
	"parley/internal/require"
	"parley/internal/sections"
	"parley/models"
	"parley/models/modelfake"
	"parley/models/modeltest"
)

func unset(string) (string, bool) { return "", false }

// Each provider describes itself completely, opens its models without a request, and its models can do what it says.
func TestProvidersDescribeThemselves(t *testing.T) {
	does := map[sections.Ability]reflect.Type{
		sections.Answers: reflect.TypeFor[llm.Model](), sections.Images: reflect.TypeFor[llm.Model](),
		sections.Transcription: reflect.TypeFor[llm.Transcriber](), sections.Painting: reflect.TypeFor[llm.ImageGenerator](),
		sections.Speech: reflect.TypeFor[llm.Speaker](), sections.Embeddings: reflect.TypeFor[llm.Embedder](),
	}
	cfg := require.Value(parley.DefaultConfig(unset))(t)
	offline := func(context.Context, string, string) (net.Conn, error) { return nil, fmt.Errorf("a request") }
	for _, s := range cfg.Providers.Others {
		settings, ok := s.Values.(models.Settings)
		if !ok || s.About == "" || s.Title == "" || s.Secret == "" || !slices.Contains(s.Can, sections.Answers) {
			t.Errorf("the description of %s is incomplete", s.Name)
			continue
		}
		m := settings.Open(models.Options{Model: "m", Provider: s.Name, Setting: "models.large.model", Dial: offline})
		for _, can := range s.Can {
			if of := reflect.TypeOf(m); does[can] == nil || !of.Implements(does[can]) {
				t.Errorf("%s: %s is not %s", s.Name, of, can)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if on := cfg.ProvidersOn(); len(on) > 0 {
		t.Errorf("%d providers are on without credentials; want none", len(on))
	}
}

// seen is what a server was sent.
type seen struct {
	mu     sync.Mutex
	header http.Header
}

// Each preset needs only its key or address: where it goes, how the key is sent, and what the server wants otherwise than others.
func TestPresets(t *testing.T) {
	const key = "sk-0123456789abcdefghij"
	tests := map[string]struct {
		url, variable string // the default address; the variable of the key or address
		header        string // that has the key
		tokens        string
	}{
		"openrouter": {"https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "Authorization", "max_tokens"},
		"groq":       {"https://api.groq.com/openai/v1", "GROQ_API_KEY", "Authorization", "max_completion_tokens"},
		"mistral":    {"https://api.mistral.ai/v1", "MISTRAL_API_KEY", "Authorization", "max_tokens"},
		"deepseek":   {"https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "Authorization", "max_tokens"},
		"xai":        {"https://api.x.ai/v1", "XAI_API_KEY", "Authorization", "max_completion_tokens"},
		"azure":      {"", "AZURE_OPENAI_BASE_URL", "Api-Key", "max_completion_tokens"},
		"ollama":     {"", "OLLAMA_BASE_URL", "", "max_tokens"},
		"lmstudio":   {"", "LMSTUDIO_BASE_URL", "", "max_tokens"},
		"vllm":       {"", "VLLM_BASE_URL", "", "max_tokens"},
		"llamacpp":   {"", "LLAMACPP_BASE_URL", "", "max_tokens"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got seen
			fake := modelfake.New(modelfake.Options{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got.mu.Lock()
				got.header = r.Header.Clone()
				got.mu.Unlock()
				fake.ServeHTTP(w, r)
			}))
			defer server.Close()
			byDefault, err := parley.DefaultConfig(func(v string) (string, bool) {
				return strings.Repeat("https://a.test/v1", strings.Count(v, test.variable)), v == test.variable
			})
			require.NoError(t, err)
			on := byDefault.ProvidersOn()
			if len(on) != 1 || on[0].Name != name {
				t.Fatalf("%s turns on %v", test.variable, on)
			}
			if base := reflect.ValueOf(on[0].Values).Elem().FieldByName("BaseURL").String(); test.url != "" && base != test.url {
				t.Errorf("its address is %s", base)
			}
			yaml := fmt.Sprintf("providers: {%s: {base_url: %q", name, server.URL+"/v1")
			if test.header != "" {
				yaml += fmt.Sprintf(", api_key: %q", key)
			}
			yaml += fmt.Sprintf("}}\nmodels: {large: {provider: %s, model: %s, max_tokens: 7}}", name, modelfake.DefaultModel)
			cfg := require.Value(config.Parse("", []byte(yaml), "", unset, append(parley.Platforms(), parley.Providers()...)...))(t)
			cfg.Store, cfg.Web.Listen = config.DSN("sqlite:"+t.TempDir()+"/parley.db"), "127.0.0.1:0"
			for _, f := range parley.Check(t.Context(), cfg, parley.Env{}) {
				if f.Part == "models.large" && (!f.OK || !strings.Contains(f.Text, "answers at "+server.URL)) {
					t.Errorf("%+v", f)
				}
			}
			for _, header := range []string{"Authorization", "Api-Key"} {
				if has := strings.HasSuffix(got.header.Get(header), key); has != (header == test.header) {
					t.Errorf("%s is %q", header, got.header.Get(header))
				}
			}
			if bad := fake.Rejected(); len(bad) > 0 {
				t.Errorf("rejected: %s", bad[0].Rejected)
			}
			if r := fake.Requests(); len(r) != 1 || !strings.Contains(string(r[0].Raw), `"`+test.tokens+`":7`) {
				t.Errorf("asked %d times", len(r))
			}
		})
	}
}

// A provider that no model uses is tried as well, but its key can be another program's.
func TestCheckOfUnusedProvider(t *testing.T) {
	const key = "sk-0123456789abcdefghij"
	server := httptest.NewServer(modelfake.New(modelfake.Options{Key: key}))
	defer server.Close()
	for sent, ok := range map[string]bool{key: true, key + "x": false} {
		yaml := fmt.Sprintf("providers: {groq: {api_key: %q, base_url: %q}}", sent, server.URL+"/v1")
		cfg := require.Value(config.Parse("", []byte(yaml), "", unset, append(parley.Platforms(), parley.Providers()...)...))(t)
		cfg.Store, cfg.Web.Listen = config.DSN("sqlite:"+t.TempDir()+"/parley.db"), "127.0.0.1:0"
		found := false
		for _, f := range parley.Check(t.Context(), cfg, parley.Env{}) {
			if f.Part != "providers.groq" {
				continue
			}
			found = true
			if !f.OK || f.Doubt == ok || !ok && !strings.Contains(f.Text, "providers.groq.api_key (GROQ_API_KEY)") || strings.Contains(f.Text, sent) {
				t.Errorf("%+v", f)
			}
		}
		if !found {
			t.Error("the provider is not in the list of checks; want it tried")
		}
	}
}

// Each task takes a model of any provider with that ability, and each is tried on its own wire.
func TestTasksOfSeveralProviders(t *testing.T) {
	serve := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL
	}
	yaml := fmt.Sprintf(`
providers:
  anthropic: {api_key: %[1]q, base_url: %[2]q}
  responses: {api_key: %[1]q, base_url: "%[3]s/v1"}
  gemini: {api_key: %[1]q, base_url: %[4]q}
  groq: {api_key: %[1]q, base_url: "%[5]s/v1"}
models:
  large: {provider: anthropic, model: model-a}
  small: {provider: responses, model: model-b}
  vision: {provider: gemini, model: model-a}
  transcription: {provider: groq, model: ears}
  embedding: {provider: gemini, model: model-b}
`, modeltest.Key, serve(modeltest.Anthropic()), serve(modeltest.Responses()), serve(modeltest.Gemini()),
		serve(modelfake.New(modelfake.Options{Key: modeltest.Key, Models: []string{"ears"}})))
	cfg := require.Value(config.Parse("", []byte(yaml), "", unset, append(parley.Platforms(), parley.Providers()...)...))(t)
	cfg.Store, cfg.Web.Listen = config.DSN("sqlite:"+t.TempDir()+"/parley.db"), "127.0.0.1:0"
	tried := 0
	for _, f := range parley.Check(t.Context(), cfg, parley.Env{}) {
		if strings.HasPrefix(f.Part, "models.") {
			tried++
			if !f.OK {
				t.Errorf("%+v", f)
			}
		}
	}
	if tried != 5 {
		t.Errorf("%d models are tried; want 5", tried)
	}
}
