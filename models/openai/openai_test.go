package openai

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/llm"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

const testKey = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz"

// hello is the smallest request.
var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hello"}}}

// over is a Model that talks to handler.
func over(t *testing.T, handler http.Handler, change ...func(*Options)) *Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o := Options{BaseURL: server.URL + "/v1", APIKey: testKey, Model: modelfake.DefaultModel}
	for _, c := range change {
		c(&o)
	}
	m := New(o)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// playing is a server that answers the next request with these steps.
func playing(steps ...modelfake.Step) *modelfake.Server {
	s := modelfake.New(modelfake.Options{Key: testKey})
	s.Queue(steps)
	return s
}

// collect reads one answer to its end.
func collect(ctx context.Context, m *Model, req llm.Request) (chunks []llm.Chunk, err error) {
	for c, e := range m.Generate(ctx, req) {
		if e != nil {
			return chunks, e
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

func textOf(chunks []llm.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString(c.Text)
	}
	return b.String()
}

func TestAnswer(t *testing.T) {
	fake := playing(
		modelfake.Reasoning("hm"),
		modelfake.Comment(),
		modelfake.Text("Hello there", modelfake.ByWord),
		modelfake.NoChoices(),
		modelfake.Interleaved(modelfake.ByBytes(6),
			modelfake.Call{ID: "a", Name: "ROLL_DICE", Arguments: `{"sides":6}`},
			modelfake.Call{ID: "b", Name: "CLOCK", Arguments: `{}`}),
		modelfake.ReportUsage(7, 9),
	)
	got := require.Value(collect(t.Context(), over(t, fake), hello))(t)
	want := []llm.Chunk{
		{Alive: true, Reasoning: "hm"},
		{Text: "Hello "}, {Text: "there"},
		{Call: &llm.CallDelta{Index: 0, ID: "a", Name: "ROLL_DICE"}},
		{Call: &llm.CallDelta{Index: 1, ID: "b", Name: "CLOCK"}},
		{Call: &llm.CallDelta{Index: 0, Parameters: `{"side`}},
		{Call: &llm.CallDelta{Index: 1, Parameters: `{}`}},
		{Call: &llm.CallDelta{Index: 0, Parameters: `s":6}`}},
		{Finish: llm.FinishCalls},
		{Usage: &llm.Usage{Prompt: 7, Completion: 9}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if bad := fake.Rejected(); len(bad) > 0 {
		t.Errorf("rejected: %v", bad[0].Rejected)
	}
}

// TestEnvironment: SDKs read these by themselves; only what was configured may count.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/leak")
	t.Setenv("OPENAI_API_KEY", "leaked-key")
	t.Setenv("OPENAI_ADMIN_KEY", "leaked-admin")
	t.Setenv("OPENAI_ORG_ID", "leaked-org")
	t.Setenv("OPENAI_PROJECT_ID", "leaked-project")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: leaked-header")
	fake := modelfake.New(modelfake.Options{})
	m := over(t, fake, func(o *Options) { o.APIKey = "" })
	require.Value(collect(t.Context(), m, hello))(t)
	for name, values := range fake.Requests()[0].Header {
		if strings.Contains(strings.Join(values, " "), "leaked") || name == "Authorization" {
			t.Errorf("header %s: %q", name, values)
		}
	}
}

// inMemory runs test in a bubble with a Model over a network in memory.
func inMemory(t *testing.T, fake *modelfake.Server, test func(t *testing.T, m *Model)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := sim.NewNet()
		l := require.Value(network.Listen("tcp", "model.test:80"))(t)
		defer fake.Serve(l)()
		m := New(Options{BaseURL: "http://model.test/v1", APIKey: testKey, Model: "m", Dial: network.Dial})
		defer m.Close()
		test(t, m)
	})
}

// TestCancel covers LM-03 and LM-12: who cancels has the cause at once, and the provider stops.
func TestCancel(t *testing.T) {
	silences := map[string][]modelfake.Step{
		"before the headers": {modelfake.Stall()},
		"after the headers":  {modelfake.Open(), modelfake.Stall()},
		"within the text":    {modelfake.Text("some"), modelfake.Stall()},
		"comments":           {modelfake.Comments(time.Second)},
	}
	for name, steps := range silences {
		t.Run(name, func(t *testing.T) {
			fake := playing(steps...)
			inMemory(t, fake, func(t *testing.T, m *Model) {
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := errors.New("the test stops it")
				time.AfterFunc(30*time.Second, func() { cancel(stop) })
				start := time.Now()
				chunks, err := collect(ctx, m, hello)
				if err != stop || time.Since(start) != 30*time.Second {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
				if len(chunks) > 1 {
					t.Errorf("keep-alives were yielded: %v; want at most 1", chunks)
				}
				synctest.Wait()
				if r := fake.Requests()[0]; r.Cancelled.IsZero() {
					t.Error("the provider still writes; want its request cancelled")
				}
			})
		})
	}
}

func TestReaderLeaves(t *testing.T) {
	fake := playing(modelfake.Text("one two three"), modelfake.Stall())
	inMemory(t, fake, func(t *testing.T, m *Model) {
		for range m.Generate(t.Context(), hello) {
			break
		}
		synctest.Wait()
		if r := fake.Requests()[0]; r.Cancelled.IsZero() {
			t.Error("the provider still writes; want its request cancelled")
		}
	})
}

func TestDoneBefore(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped before")
	cancel(stop)
	if chunks, err := collect(ctx, over(t, playing()), hello); err != stop || chunks != nil {
		t.Errorf("%v, %v", chunks, err)
	}
}

// TestLineStaysOpen: after the finish reason nothing is missing, so the client doesn't wait for long.
func TestLineStaysOpen(t *testing.T) {
	fake := playing(modelfake.Text("all"), modelfake.Raw(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`), modelfake.Stall())
	inMemory(t, fake, func(t *testing.T, m *Model) {
		start := time.Now()
		chunks, err := collect(t.Context(), m, hello)
		if err != nil || textOf(chunks) != "all" || time.Since(start) != afterFinish {
			t.Errorf("after %v: %v, %v", time.Since(start), chunks, err)
		}
	})
}

// TestCutAnywhere covers LM-02: no cut looks like a complete answer, and what came before it stays.
func TestCutAnywhere(t *testing.T) {
	const whole = "one two three four"
	faults := map[string]modelfake.Step{
		"cut":      modelfake.Cut(),
		"error":    modelfake.ErrorEvent("overloaded_error", "try later"),
		"bad JSON": modelfake.Raw(`{"choices":[{"delta":{"con`),
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			m := over(t, modelfake.New(modelfake.Options{Choose: func(r modelfake.Request) modelfake.Script {
				return modelfake.Script{modelfake.After(r.Number-1, fault), modelfake.Text(whole, modelfake.ByWord)}
			}}))
			const textEvents = 5 // the role and four words
			for k := range textEvents + 1 {
				chunks, err := collect(t.Context(), m, hello)
				f, ok := errors.AsType[*llm.Failure](err)
				if !ok || f.Kind != llm.ProviderIssue || !f.Retry {
					t.Fatalf("after %d events: %v", k, err)
				}
				words := strings.SplitAfter(whole, " ")[:max(k-1, 0)]
				if got := textOf(chunks); got != strings.Join(words, "") {
					t.Errorf("after %d events: %q", k, got)
				}
				if slices.ContainsFunc(chunks, func(c llm.Chunk) bool { return c.Finish != "" }) {
					t.Errorf("after %d events: a finish", k)
				}
			}
		})
	}
}

// TestOnlyCompleteEndsAreAnswers: which ends of a stream are complete answers.
func TestOnlyCompleteEndsAreAnswers(t *testing.T) {
	tests := map[string]struct {
		steps    []modelfake.Step
		complete bool
	}{
		"finish and done": {[]modelfake.Step{modelfake.Text("x")}, true},
		"finish alone":    {[]modelfake.Step{modelfake.Text("x"), modelfake.NoDone()}, true},
		"done alone":      {[]modelfake.Step{modelfake.Text("x"), modelfake.Finish("")}, true},
		"neither":         {[]modelfake.Step{modelfake.Text("x"), modelfake.Finish(""), modelfake.NoDone()}, false},
		"nothing at all":  {[]modelfake.Step{modelfake.Open(), modelfake.Finish(""), modelfake.NoDone()}, false},
		"empty answer":    {nil, true}, // LM-06 is the caller's
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := collect(t.Context(), over(t, playing(test.steps...)), hello)
			if (err == nil) != test.complete {
				t.Errorf("error %v", err)
			}
		})
	}
}
