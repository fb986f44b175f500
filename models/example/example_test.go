package example_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/backends/sqlite/sqlitetest"
	"parley/config"
	"parley/core/llm"
	"parley/internal/require"
	"parley/internal/sections"
	"parley/models"
	"parley/models/example"
)

const key = "key-0123456789"

// serve starts a server of Example. It records the last question, and answers it with lines.
func serve(t *testing.T, lines ...string) (url string, asked func() string) {
	t.Helper()
	var question string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer "+key:
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method+r.URL.Path == "GET/v1/models":
			fmt.Fprint(w, `["small","large"]`)
		case r.Method+r.URL.Path == "POST/v1/answers" && len(lines) == 0:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case r.Method+r.URL.Path == "POST/v1/answers" && json.Valid(body):
			question = string(body)
			fmt.Fprint(w, strings.Join(lines, "\n"))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", func() string { return question }
}

func open(url string) models.Model {
	return (&example.Config{APIKey: key, BaseURL: url}).Open(models.Options{Model: "large", Provider: "example", Setting: "models.large.model"})
}

func ask(ctx context.Context, m models.Model, req llm.Request) (chunks []llm.Chunk, err error) {
	for c, err := range m.(llm.Model).Generate(ctx, req) {
		if err != nil {
			return chunks, err
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

func TestAnswer(t *testing.T) {
	url, asked := serve(t, `{"text":"One "}`, `{"call":{"id":"a","name":"ROLL","parameters":{"sides":6}}}`, `{"end":"tool_calls","in":9,"out":4}`)
	got, err := ask(t.Context(), open(url), llm.Request{
		System: "Be kind.", Messages: []llm.Message{{Role: llm.RoleUser, Text: "Roll"}}, Tools: []llm.Tool{{Name: "ROLL", Parameters: []byte("{}")}}, MaxTokens: 50,
	})
	if err != nil || len(got) != 3 || got[0].Text != "One " || *got[1].Call != (llm.CallDelta{ID: "a", Name: "ROLL", Parameters: `{"sides":6}`}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if end := got[2]; end.Finish != llm.FinishCalls || *end.Usage != (llm.Usage{Prompt: 9, Completion: 4}) {
		t.Errorf("the answer ends with %+v", end)
	}
	want := `{"model":"large","system":"Be kind.","messages":[{"role":"user","text":"Roll"}],"tools":[{"Name":"ROLL","Description":"","Parameters":{"properties":{},"type":"object"}}],"max_tokens":50}`
	if strings.TrimSpace(asked()) != want {
		t.Errorf("the server was asked %s; want %s", asked(), want)
	}
}

// A stream without its last line is not a complete answer, and a refusal says when the request can be repeated.
func TestFailures(t *testing.T) {
	url, _ := serve(t, `{"text":"One "}`)
	if got, err := ask(t.Context(), open(url), llm.Request{}); len(got) != 1 || failure(err).Kind == "" || !failure(err).Retry {
		t.Errorf("after a broken stream: %+v, %v", got, err)
	}
	url, _ = serve(t)
	if _, err := ask(t.Context(), open(url), llm.Request{}); failure(err).Kind != llm.RateLimited || failure(err).After != 7*time.Second {
		t.Errorf("after a refusal: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("stopped")
	cancel(left)
	if _, err := ask(ctx, open(url), llm.Request{}); !errors.Is(err, left) {
		t.Errorf("after the caller has left: %v", err)
	}
}

func failure(err error) llm.Failure {
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		return *f
	}
	return llm.Failure{}
}

// With its section, the gateway reads the provider's configuration and tries its model.
func TestCheck(t *testing.T) {
	url, _ := serve(t, `{"text":"OK"}`, `{"end":"stop"}`)
	for given, want := range map[string]string{key: "large answers at ", "another": "correct providers.example.api_key (EXAMPLE_API_KEY)"} {
		unset := func(string) (string, bool) { return "", false }
		others := slices.DeleteFunc(append(parley.Platforms(), parley.Providers()...), func(s sections.Section) bool { return s.Name == example.Section().Name })
		cfg, err := config.Parse("config.yaml", []byte("providers: {example: {api_key: "+given+", base_url: '"+url+"'}}\n"+
			"models: {large: {provider: example, model: large}}\nweb: {listen: '127.0.0.1:0'}\nstore: sqlite:"+sqlitetest.Path(t)),
			t.TempDir(), unset, append(others, example.Section())...)
		require.NoError(t, err)
		var found []string
		for _, f := range parley.Check(t.Context(), cfg, parley.Env{}) {
			found = append(found, f.Part+": "+f.Text)
		}
		if all := strings.Join(found, "\n"); !strings.Contains(all, want) {
			t.Errorf("gateway check says:\n%s\nwant %q", all, want)
		}
	}
}
