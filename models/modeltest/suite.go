package modeltest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/llm"
	"parley/internal/require"
)

// Suite says how the models of one wire are tested.
type Suite struct {
	New func() Fake
	// Open returns a model with [Key] at the server. It thinks before it answers, if the wire has that.
	Open func(base, model string) llm.Model
	// Tuned is Open with all parameters that the wire has, and Sent is what requests then have, as a JSON object.
	Tuned func(base, model string) llm.Model
	Sent  string
	// Removed is a key that requests have otherwise, and that Tuned removes with null.
	Removed string
	// Check checks a model that Open returns, used with tools and images; what to do if it takes none is given.
	Check    func(ctx context.Context, m llm.Model, tools, images string) (string, error)
	Finishes map[string]llm.FinishReason // by the wire's words
	Overload Refusal                     // with a time to wait
	Late     Refusal                     // within a stream
	NoCalls  bool                        // calls have no ids on the wire
	// Own are keys of requests that no owner has configured, with the status of a server that refuses each.
	Own      map[string]int
	OwnModel string // that has all of them; empty: any
}

// Run tests the models.
func Run(t *testing.T, s Suite) {
	for name, test := range map[string]func(*testing.T, Suite){
		"text": testText, "finishes": testFinishes, "reasoning": testReasoning, "tool rounds": testToolRounds, "refusals": testRefusals, "cut": testCut,
		"cancel": testCancel, "images": testImages, "cache": testCache, "limit": testLimit, "broken history": testHistory, "parameters": testParameters, "check": testCheck,
		"schemas": testSchemas, "refused tool": testRefusedTool, "own parameters": testOwnParameters, "forms": testForms,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// serve starts a server and opens a model of it.
func (s Suite) serve(t *testing.T, model string) (Fake, llm.Model) {
	t.Helper()
	fake := s.New()
	web := httptest.NewServer(fake)
	t.Cleanup(web.Close)
	m := s.Open(web.URL, model)
	if c, ok := m.(interface{ Close() error }); ok {
		t.Cleanup(func() { _ = c.Close() }) // only idle connections
	}
	return fake, m
}

// told is a whole answer.
type told struct {
	text   string
	calls  []llm.ToolCall
	finish llm.FinishReason
	usage  *llm.Usage
	opaque *llm.Opaque
	alive  bool
	reason string // that people can read
}

func ask(ctx context.Context, m llm.Model, req llm.Request) (a told, err error) {
	index := map[int]int{}
	for c, err := range m.Generate(ctx, req) {
		if err != nil {
			return a, err
		}
		a.text += c.Text
		a.alive, a.reason = a.alive || c.Alive, a.reason+c.Reasoning
		if d := c.Call; d != nil {
			i, known := index[d.Index]
			if !known {
				i = len(a.calls)
				index[d.Index] = i
				a.calls = append(a.calls, llm.ToolCall{ID: d.ID, Name: d.Name})
			}
			a.calls[i].Parameters = append(a.calls[i].Parameters, d.Parameters...)
		}
		if c.Finish != "" {
			a.finish = c.Finish
		}
		if c.Usage != nil {
			a.usage = c.Usage
		}
		if c.Opaque != nil {
			a.opaque = c.Opaque
		}
	}
	return a, nil
}

func valid(t *testing.T, f Fake) {
	t.Helper()
	for i, s := range f.Seen() {
		if s.Rejected != "" {
			t.Errorf("request %d is rejected: %s\n%s", i, s.Rejected, s.Raw)
		}
	}
}

var hello = llm.Request{System: "Be kind.", Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hello"}}}

func testText(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	fake.Queue(Answer{Think: "hm", Text: []string{"Hello ", "there: <b> & \"ü\" 😀"}})
	a, err := ask(t.Context(), m, hello)
	if err != nil || a.text != "Hello there: <b> & \"ü\" 😀" || a.finish != llm.FinishStop || a.usage == nil || a.usage.Prompt < 1 || a.usage.Completion < 5 {
		t.Errorf("%+v, usage %+v: %v", a, a.usage, err)
	}
	valid(t, fake)
}

// Reasoning comes where it is asked for, before the text and never within it; the servers summarize it or send it as it is.
func testReasoning(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	for _, readable := range []bool{false, true} {
		fake.Queue(Answer{Think: "I count to \"3\".", Text: []string{"It is 3."}})
		req := hello
		req.Readable = readable
		a, err := ask(t.Context(), m, req)
		if err != nil || a.text != "It is 3." || !a.alive || strings.Contains(a.text, "count") {
			t.Errorf("%+v: %v", a, err)
		}
		if readable && !slices.Contains([]string{"I count to \"3\".", "a summary"}, strings.TrimSpace(a.reason)) {
			t.Errorf("the reasoning is %q", a.reason)
		}
	}
	valid(t, fake)
}

func testFinishes(t *testing.T, s Suite) {
	for word, want := range s.Finishes {
		fake, m := s.serve(t, "model-a")
		an := Answer{Text: []string{"It"}, Finish: word}
		if want == llm.FinishCalls {
			an.Calls = []Call{{"a", "DO", "{}"}}
		}
		fake.Queue(an)
		a, err := ask(t.Context(), m, withTools(hello))
		if err != nil || a.finish != want || a.text != "It" {
			t.Errorf("%s: %+v, %v; want %s", word, a, err, want)
		}
	}
	fake, m := s.serve(t, "model-a")
	fake.Queue(Answer{Block: true})
	if a, err := ask(t.Context(), m, hello); err != nil || a.finish != llm.FinishFilter {
		t.Errorf("a request that the filter refuses: %+v, %v", a, err)
	}
}

// withTools adds two tools, one of which has a name that wires don't allow.
func withTools(req llm.Request) llm.Request {
	req.Tools = []llm.Tool{
		{Name: "DO", Description: "Does it.", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)},
		{Name: "look.up", Description: "Looks it up.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
	}
	return req
}

// Two calls at once, their results, and the reasoning that goes back with them; to the same model only.
func testToolRounds(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	fake.Queue(Answer{Think: "I need both.", Text: []string{"Wait."}, Calls: []Call{{"a", "DO", `{"x":1}`}, {"b", "look_up", `{}`}}})
	req := withTools(hello)
	a := require.Value(ask(t.Context(), m, req))(t)
	var calls []string
	for i, c := range a.calls {
		calls = append(calls, c.Name+string(c.Parameters))
		if c.ID == "" && !s.NoCalls {
			t.Error("a call has no id; want one for each call")
		}
		a.calls[i].ID = string(rune('a' + i)) // the runtime gives ids of its own
	}
	if diff := cmp.Diff([]string{`DO{"x":1}`, `look.up{}`}, calls); diff != "" || a.finish != llm.FinishCalls || !a.alive || a.opaque == nil {
		t.Errorf("%+v\n%s", a, diff)
	}
	req.Messages = append(slices.Clip(req.Messages), llm.Message{Role: llm.RoleAssistant, Text: a.text, Calls: a.calls, Opaque: a.opaque},
		llm.Message{Role: llm.RoleTool, Call: "a", Text: "done"}, llm.Message{Role: llm.RoleTool, Call: "b", Text: "found"})
	if b, err := ask(t.Context(), m, req); err != nil || b.text != "OK" {
		t.Errorf("%+v, %v", b, err)
	}
	other, elsewhere := s.serve(t, "model-b")
	if _, err := ask(t.Context(), elsewhere, req); err != nil {
		t.Error(err)
	}
	for _, f := range []Fake{fake, other} {
		seen := f.Seen()
		last := seen[len(seen)-1]
		if len(last.Results) != 2 || !strings.Contains(last.Results[0], "done") || !strings.Contains(last.Results[1], "found") {
			t.Errorf("results: %q", last.Results)
		}
		if back := slices.Equal(last.Thoughts, []string{"I need both."}); back != (f == fake) || !back && len(last.Thoughts) > 0 {
			t.Errorf("%s gets the thoughts %q", last.Model, last.Thoughts)
		}
		valid(t, f)
	}
	// A call that the runtime left out: the rest is still valid.
	req.Messages[1].Calls, req.Messages = req.Messages[1].Calls[:1], req.Messages[:3]
	if _, err := ask(t.Context(), m, req); err != nil {
		t.Error(err)
	}
	valid(t, fake)
}

func testRefusals(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	fake.Queue(Answer{Fails: &s.Overload}, Answer{Text: []string{"It"}, Late: &s.Late})
	_, err := ask(t.Context(), m, hello)
	f, ok := errors.AsType[*llm.Failure](err)
	if !ok || !f.Retry || f.After != 7*time.Second {
		t.Errorf("overloaded: %+v", f)
	}
	a, err := ask(t.Context(), m, hello)
	if f, ok = errors.AsType[*llm.Failure](err); !ok || !f.Retry || a.text != "It" || !strings.Contains(f.Err.Error(), s.Late.Message) {
		t.Errorf("within the stream: %+v, %v", a, err)
	}
	wrong := s.Open(strings.TrimSuffix("http://127.0.0.1:1", "/"), "model-a")
	if _, err := ask(t.Context(), wrong, hello); err == nil {
		t.Error("the request succeeded without a server; want an error")
	}
	valid(t, fake)
}

func testCut(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	fake.Queue(Answer{Text: []string{"It is "}, Cut: true})
	a, err := ask(t.Context(), m, hello)
	f, ok := errors.AsType[*llm.Failure](err)
	if !ok || f.Kind != llm.ProviderIssue || !f.Retry || a.text != "It is " || a.finish != "" {
		t.Errorf("%+v, %v", a, err)
	}
}

func testCancel(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	left := make(chan error, 1)
	fake.Queue(Answer{Text: []string{"It"}, Hang: true, Left: left})
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	defer cancel(enough)
	var got error
	for c, err := range m.Generate(ctx, hello) {
		if got = err; c.Text != "" {
			cancel(enough)
		}
	}
	if got != enough {
		t.Error(got)
	}
	if <-left == nil {
		t.Error("the server did not see the cancellation; want its request ended")
	}
	fake.Queue(Answer{Text: []string{"It"}, Hang: true, Left: left})
	for c := range m.Generate(t.Context(), hello) { // a reader that leaves ends the request, too
		if c.Text != "" {
			break
		}
	}
	if <-left == nil {
		t.Error("the server did not see the reader leave; want its request ended")
	}
}

func testImages(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	data := []byte("\x89PNG\r\n\x1a\n")
	req := hello
	req.Messages = []llm.Message{{Role: llm.RoleUser, Text: "What is it?", Images: []llm.File{{Type: "image/png", Data: data}}}, {Role: llm.RoleUser, Images: []llm.File{{Type: "image/png", Data: data}}}}
	require.Value(ask(t.Context(), m, req))(t)
	coded := base64.StdEncoding.EncodeToString(data)
	if got := fake.Seen()[0].Images; len(got) != 2 || !strings.HasSuffix(got[0], coded) || !strings.HasSuffix(got[1], coded) {
		t.Errorf("%q", got)
	}
	valid(t, fake)
}

// A check makes one small request, with a tool and an image if the model is used with them. What it takes not is told in one sentence,
// with what to do, also where the server's message is unknown: then it is found out by asking for less.
func testCheck(t *testing.T, s Suite) {
	refused := func(message string) Answer {
		return Answer{Fails: &Refusal{Status: 400, Kind: "invalid_request_error", Message: message}}
	}
	odd, fine := refused("unexpected keys"), Answer{Text: []string{"OK"}}
	for name, c := range map[string]struct {
		tools, images string
		answers       []Answer
		says          string
	}{
		"alone":                     {"", "", []Answer{fine}, "model-a answers at"},
		"with both":                 {"no tools", "no images", []Answer{fine}, "and takes tools and images"},
		"no tools":                  {"set it", "", []Answer{refused("model-a does not support tools")}, `the model "model-a" takes no tools: set it: `},
		"no images":                 {"", "set it", []Answer{refused("model-a does not support image input")}, `the model "model-a" takes no images: set it: `},
		"no tools, in odd words":    {"set it", "", []Answer{odd, fine}, `the model "model-a" takes no tools: set it: `},
		"no images, in odd words":   {"", "set it", []Answer{odd, fine}, `the model "model-a" takes no images: set it: `},
		"no tools of both":          {"set tools", "set images", []Answer{odd, odd, fine}, `the model "model-a" takes no tools: set tools: `},
		"no images of both":         {"set tools", "set images", []Answer{odd, fine}, `the model "model-a" takes no images: set images: `},
		"it refuses all of that":    {"set tools", "set images", []Answer{odd, odd, odd}, "unexpected keys"},
		"it is overloaded, not bad": {"set tools", "set images", []Answer{{Fails: &s.Overload}}, s.Overload.Message},
	} {
		t.Run(name, func(t *testing.T) {
			fake, m := s.serve(t, "model-a")
			fake.Queue(c.answers...)
			text, err := s.Check(t.Context(), m, c.tools, c.images)
			if err != nil {
				text = err.Error()
			}
			seen := fake.Seen()
			if !strings.Contains(text, c.says) || len(seen) != len(c.answers) {
				t.Fatalf("%d requests: %s", len(seen), text)
			}
			if first := seen[0]; len(first.Images) > 0 != (c.images != "") || strings.Contains(string(first.Raw), "NOTHING") != (c.tools != "") || first.Limit > 2048 {
				t.Errorf("it asks %s", first.Raw)
			}
			valid(t, fake)
		})
	}
}

// The second turn reads from the cache what it begins with like the first, although the gateway's context between has changed. So
// does the second round of a turn.
func testCache(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	said := func(role llm.Role, text string) llm.Message {
		return llm.Message{Role: role, Text: text + strings.Repeat(" and more", 20)}
	}
	context := func(time string) llm.Message {
		return llm.Message{Role: llm.RoleUser, Context: true, Text: "<context>" + time + "</context>"}
	}
	history := []llm.Message{said(llm.RoleUser, "One"), said(llm.RoleAssistant, "Two"), said(llm.RoleUser, "Three"), said(llm.RoleAssistant, "Four")}
	question, answer, next := said(llm.RoleUser, "Five"), said(llm.RoleAssistant, "Six"), said(llm.RoleUser, "Seven")
	usages := map[string]*llm.Usage{}
	for _, turn := range []struct {
		name     string
		messages []llm.Message
	}{
		{"first", slices.Concat(history, []llm.Message{context("noon"), question})},
		{"second", slices.Concat(history, []llm.Message{question, answer, context("one"), next})},
		{"second, after a call", slices.Concat(history, []llm.Message{question, answer, context("one"), next,
			{Role: llm.RoleAssistant, Calls: []llm.ToolCall{{ID: "a", Name: "DO", Parameters: json.RawMessage(`{"x":1}`)}}}, {Role: llm.RoleTool, Call: "a", Text: "done"}})},
	} {
		req := withTools(hello)
		req.Messages = turn.messages
		a, err := ask(t.Context(), m, req)
		if err != nil || a.usage == nil {
			t.Fatalf("%s: %+v, %v", turn.name, a, err)
		}
		usages[turn.name] = a.usage
		if u := a.usage; u.Cached+u.CacheWritten > u.Prompt {
			t.Errorf("%s: %+v", turn.name, u)
		}
	}
	first, second, third := usages["first"], usages["second"], usages["second, after a call"]
	if first.Cached != 0 || second.Cached < second.Prompt/2 || third.Cached <= second.Cached || third.Cached < third.Prompt*8/10 {
		t.Errorf("cached are %+v, %+v, %+v", first, second, third)
	}
	valid(t, fake)
}

func testLimit(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	req := hello
	req.MaxTokens = 300
	require.Value(ask(t.Context(), m, req))(t)
	if got := fake.Seen()[0].Limit; got != 300 {
		t.Errorf("the limit is %d; want 300", got)
	}
	valid(t, fake)
}

// Whatever a turn consists of is valid: half a call, blank text, several messages in a row.
func testHistory(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	req := withTools(llm.Request{})
	req.Messages = llm.NormalizeMessages([]llm.Message{
		{Role: llm.RoleUser, Text: "a"}, {Role: llm.RoleUser, Text: "b"},
		{Role: llm.RoleAssistant, Text: "  ", Calls: []llm.ToolCall{{ID: "1", Name: "DO", Parameters: json.RawMessage(`{"x":`)}, {ID: "2", Name: "gone", Parameters: nil}}},
		{Role: llm.RoleTool, Call: "1", Text: "Error: half a call"}, {Role: llm.RoleTool, Call: "2", Text: "Error: no such action"},
		{Role: llm.RoleUser, Text: "c"},
	})
	if _, err := ask(t.Context(), m, req); err != nil {
		t.Error(err)
	}
	valid(t, fake)
}
