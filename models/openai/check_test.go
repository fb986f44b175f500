package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/core/llm"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/models/wire"
	"parley/sim"
)

func TestModels(t *testing.T) {
	m := over(t, modelfake.New(modelfake.Options{Models: []string{"zeta", "alpha", "zeta"}}))
	got, err := m.Models(t.Context())
	if diff := cmp.Diff([]string{"alpha", "zeta"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestResolve(t *testing.T) {
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("m%02d", i))
	}
	tests := map[string]struct {
		set   string
		there []string
		want  string
		fails string
	}{
		"configured":           {set: "mine", there: []string{"a", "b"}, want: "mine"},
		"the only one":         {there: []string{"a"}, want: "a"},
		"embeddings are aside": {there: []string{"a", "nomic-embed-text", "text-embedding-3"}, want: "a"},
		"several":              {there: []string{"b", "a"}, fails: "set models.large.model (OPENAI_MODEL) to one of a, b"},
		"none":                 {there: []string{}, fails: "the server has no model"},
		"many":                 {there: many, fails: "m18, m19 and 5 more"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := over(t, modelfake.New(modelfake.Options{Models: test.there}), func(o *Options) { o.Model = test.set })
			got, err := m.Resolve(t.Context())
			if test.fails == "" {
				if got != test.want || err != nil {
					t.Errorf("%q, %v; want %q", got, err, test.want)
				}
				return
			}
			f, ok := errors.AsType[*llm.Failure](err)
			if !ok || f.Kind != llm.NoModel || f.Retry || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%q, %v", got, err)
			}
			if _, err := collect(t.Context(), m, hello); err == nil || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("generate: %v", err)
			}
		})
	}
}

// TestResolveIsKept: the list is asked for once.
func TestResolveIsKept(t *testing.T) {
	fake := modelfake.New(modelfake.Options{Models: []string{"only"}})
	lists := 0
	m := over(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			lists++
		}
		fake.ServeHTTP(w, r)
	}), func(o *Options) { o.Model = "" })
	for range 2 {
		require.Value(collect(t.Context(), m, hello))(t)
	}
	if requests := fake.Requests(); lists != 1 || requests[1].Model != "only" {
		t.Errorf(`%d lists, model %q; want 1 and "only"`, lists, requests[1].Model)
	}
}

// TestCheck: each error says the next step, and success says what answers where.
func TestCheck(t *testing.T) {
	fake := func(o modelfake.Options, steps ...modelfake.Step) *modelfake.Server {
		s := modelfake.New(o)
		if steps != nil {
			s.Queue(steps)
		}
		return s
	}
	down := sim.NewNet() // without a server
	tests := map[string]struct {
		server http.Handler
		change func(*Options)
		want   []string
		ok     bool
	}{
		"text":         {server: fake(modelfake.Options{}), want: []string{"fake-model answers at http://127.0.0.1:"}, ok: true},
		"thoughts":     {server: fake(modelfake.Options{}, modelfake.Reasoning("hm")), want: []string{"answers"}, ok: true},
		"nothing":      {server: fake(modelfake.Options{}, modelfake.Finish("length")), want: []string{"answers"}, ok: true},
		"wrong key":    {server: fake(modelfake.Options{Key: "other"}), want: []string{"rejected the key: correct providers.openai.api_key (OPENAI_API_KEY)", "401"}},
		"no key":       {server: fake(modelfake.Options{Key: "other"}), change: func(o *Options) { o.APIKey = "" }, want: []string{"requires a key: set providers.openai.api_key"}},
		"other model":  {server: fake(modelfake.Options{Models: []string{"b", "a"}}), want: []string{`the model "fake-model" does not exist at`, "set models.large.model (OPENAI_MODEL) to one of a, b"}},
		"several":      {server: fake(modelfake.Options{Models: []string{"b", "a"}}), change: func(o *Options) { o.Model = "" }, want: []string{"set models.large.model (OPENAI_MODEL) to one of a, b"}},
		"other path":   {server: fake(modelfake.Options{}), change: func(o *Options) { o.BaseURL = strings.TrimSuffix(o.BaseURL, "/v1") }, want: []string{"usually ends with /v1"}},
		"no credit":    {server: fake(modelfake.Options{}, modelfake.NoQuota()), want: []string{"is out of credit: top it up"}},
		"busy":         {server: fake(modelfake.Options{}, modelfake.RateLimit(0)), want: []string{"wait a minute"}},
		"down":         {server: fake(modelfake.Options{}, modelfake.BadGateway()), want: []string{"check that it is up"}},
		"not started":  {server: fake(modelfake.Options{}), change: func(o *Options) { o.Dial = down.Dial }, want: []string{"start the server (Ollama, LM Studio, vLLM …)", "OPENAI_BASE_URL"}},
		"not a URL":    {server: fake(modelfake.Options{}), change: func(o *Options) { o.BaseURL = "localhost:11434" }, want: []string{"OPENAI_BASE_URL) can't be used: it does not begin with http"}},
		"empty answer": {server: fake(modelfake.Options{}, modelfake.Finish(""), modelfake.NoDone()), want: []string{"the stream ended"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*Options) {}
			}
			got, err := over(t, test.server, change).Check(t.Context(), wire.Uses{})
			if err != nil {
				got = err.Error()
			}
			if (err == nil) != test.ok {
				t.Errorf("error %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in %q", want, got)
				}
			}
		})
	}
}

func TestCheckCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	if _, err := over(t, playing()).Check(ctx, wire.Uses{}); err != stop {
		t.Error(err)
	}
}
