package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/core/llm"
	"parley/internal/require"
	"parley/internal/trace"
	"parley/models"
	"parley/models/wire"
)

const key = "agent-key-0123456789abcdef"

// opened returns a model of the agent at url, and its request so far.
func opened(t *testing.T, url string, edit ...func(*models.Options)) *Model {
	t.Helper()
	o := models.Options{Provider: "http", Name: "mine", Setting: "models.chat[0].model", URL: url, APIKey: key}
	for _, e := range edit {
		e(&o)
	}
	m := open(&Config{}, o)
	t.Cleanup(func() { _ = m.Close() }) // only idle connections
	return m
}

// serve answers each request with body.
func serve(t *testing.T, media, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", media)
		_, _ = io.WriteString(w, body) // the client can have left
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// told writes down an answer, one chunk after the other.
func told(ctx context.Context, m llm.Model, req llm.Request) (all []string, err error) {
	for c, err := range m.Generate(ctx, req) {
		if err != nil {
			return all, err
		}
		switch r := c.Remote; {
		case c.Rewrites:
			all = append(all, "instead: "+c.Text)
		case c.Text != "":
			all = append(all, c.Text)
		case c.Status != nil:
			id, _, _ := strings.Cut(c.Status.ID, " of ") // files are those of a run
			all = append(all, strings.TrimSpace(fmt.Sprintf("status %s: %s %s", id, c.Status.Text, names(c.Status.Files))))
		case c.Reasoning != "":
			all = append(all, "thinks "+c.Reasoning)
		case c.Call != nil:
			all = append(all, "asks "+c.Call.Parameters)
		case r != nil && r.Ended:
			all = append(all, fmt.Sprintf("%s ended: %s%s", r.ID, r.Result, r.Error))
		case r != nil && r.Running:
			all = append(all, strings.TrimSpace(r.ID+" runs "+r.Short))
		case r != nil:
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.ID, r.Name, r.Parameters)))
		case c.Usage != nil:
			all = append(all, fmt.Sprintf("usage %d %d %d", c.Usage.Prompt, c.Usage.Completion, c.Usage.Cached))
		case c.Finish != "":
			all = append(all, string(c.Finish))
		}
	}
	return all, nil
}

// names lists files.
func names(files []llm.File) string {
	var all []string
	for _, f := range files {
		all = append(all, f.Name+" "+f.Type+" "+string(f.Data))
	}
	return strings.Join(all, ", ")
}

var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hello"}}}

// events writes server-sent events.
func events(all ...string) string { return "data: " + strings.Join(all, "\n\ndata: ") + "\n\n" }

const (
	started  = `{"type":"RUN_STARTED","threadId":"T","runId":"R"}`
	finished = `{"type":"RUN_FINISHED","threadId":"T","runId":"R"}`
	spoke    = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hi"}`
)

// What an agent sends becomes text, calls that are shown, and an end. Both protocols say the same.
func TestStreams(t *testing.T) {
	const sse, lines = "text/event-stream; charset=utf-8", "application/x-ndjson"
	for name, c := range map[string]struct {
		media, body string
		want        []string
	}{
		"text": {sse, events(started, `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`, spoke,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":" there"}`, `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`, finished), []string{"Hi", " there", "stop"}},
		"chunks, comments and an end of other protocols": {sse, ": hello\r\n\r\n" + events(started, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"Hi"}`,
			`{"type":"TEXT_MESSAGE_CHUNK","delta":" there"}`, `[DONE]`, finished), []string{"Hi", " there", "stop"}},
		"a call": {sse, events(started, spoke, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"search","parentMessageId":null}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"q\":"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"\"x\"}"}`,
			`{"type":"TOOL_CALL_END","toolCallId":"c1"}`, `{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c1","content":"3 hits","role":"tool"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"Found."}`, finished),
			[]string{"Hi", "c1 search", `c1  {"q":`, `c1  "x"}`, "c1 runs", "c1 ended: 3 hits", "Found.", "stop"}},
		"calls in chunks, the second without a result": {sse, events(started, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"search","delta":"{"}`,
			`{"type":"TOOL_CALL_CHUNK","delta":"}"}`, `{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c1","content":{"n":3}}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"log"}`, finished),
			[]string{"c1 search", "c1  {", "c1  }", `c1 ended: {"n":3}`, "c2 log", "c2 ended: ", "stop"}},
		"two messages": {sse, events(started, spoke, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"Bye"}`, finished), []string{"Hi", "\n\nBye", "stop"}},
		"the words of others": {sse, events(started, `{"type":"TEXT_MESSAGE_START","messageId":"u","role":"user"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"u","delta":"Hello"}`, spoke, finished), []string{"Hi", "stop"}},
		"no stream": {sse, events(started, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":"Old"},{"id":"u","role":"user","content":[{"type":"text","text":"Hello"}]},{"id":"b","role":"assistant","content":"Hi"},{"id":"c","role":"assistant"}]}`, finished), []string{"Hi", "stop"}},
		"usage and unknown events": {sse, events(started, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1}]}`, `{"type":"NEW","delta":{}}`, spoke,
			`{"type":"RUN_FINISHED","threadId":"T","runId":"R","outcome":null,"usage":[{"inputTokens":10,"outputTokens":2,"cachedInputTokens":4},{"inputTokens":1,"outputTokens":1}]}`),
			[]string{"Hi", "usage 11 3 4", "stop"}},
		"a question to the user": {sse, events(started, spoke, `{"type":"RUN_FINISHED","threadId":"T","runId":"R","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirm","message":"Send it?"}]}}`),
			[]string{"Hi", `asks {"id":"i","question":"Send it?","options":["Yes","No"]}`, "tool_calls"}},
		"a question in words": {sse, events(started, `{"type":"RUN_FINISHED","threadId":"T","runId":"R","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"input_required","message":"Where to?","responseSchema":{"type":"string"}}]}}`),
			[]string{"Where to?", "stop"}},
		"an approval": {sse, events(started, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"send"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
			`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"tool_call","message":"Send 3 mails","toolCallId":"c1","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}}}}]}}`),
			[]string{"c1 send", "c1 runs", "c1 ended: ", `asks {"id":"i","question":"Send 3 mails","approve":{"server":"mine","tool":"send"}}`, "tool_calls"}},
		"a choice": {sse, events(started, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"choice","message":"Which?","responseSchema":{"type":"object","properties":{"color":{"enum":["red",7],"enumNames":["Red","Seven"]}}}}]}}`),
			[]string{`asks {"id":"i","question":"Which?","options":["Red","Seven"]}`, "tool_calls"}},
		"activities": {sse, events(started, `{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"PLAN","content":{"title":"Plan","steps":[{"title":"Look","status":"done"},{"title":"Book","status":"pending"}]}}`,
			`{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"PLAN","patch":[{"op":"replace","path":"/steps/1/status","value":"running"}]}`,
			`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"PLAN","content":{"title":"Other"},"replace":false}`, finished),
			[]string{"status a: Plan\n✅ Look\n▫️ Book", "status a: Plan\n✅ Look\n⏳ Book", "status a: Plan\n✅ Look\n⏳ Book", "stop"}},
		"a snapshot that rewrites": {sse, events(started, spoke, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello"},{"id":"m1","role":"assistant","content":"Hi there"}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"assistant","content":"Good day"}]}`, finished), []string{"Hi", " there", "instead: Good day", "stop"}},
		"reasoning":            {sse, events(started, `{"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"Hm."}`, `{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"Old."}`, spoke, finished), []string{"thinks Hm.", "thinks Old.", "Hi", "stop"}},
		"the same event twice": {sse, "id: 1\ndata: " + spoke + "\n\nid: 1\ndata: " + spoke + "\n\ndata: " + finished + "\n\n", []string{"Hi", "stop"}},
		"files of a call": {sse, events(started, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"plot"}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c1","content":[{"type":"text","text":"a plot"},{"type":"image","source":{"type":"data","value":"cG5n","mimeType":"image/png"}}]}`, finished),
			[]string{"c1 plot", "c1 ended: a plot", "stop"}},
		"lines with everything": {lines, `{"type":"status","id":"s","text":"Looking"}` + "\n" + `{"type":"tool","id":"t","name":"book"}` + "\n" + `{"type":"tool","id":"t","status":"2 of 3"}` + "\n" +
			`{"type":"file","name":"a.txt","mediaType":"text/plain","data":"aGk="}` + "\n" + `{"type":"text","text":"Hi"}` + "\n" + `{"type":"replace","text":"Bye"}` + "\n" +
			`{"type":"ask","id":"q","text":"Sure?","options":["A","B"]}` + "\n" + `{"type":"done"}`,
			[]string{"status s: Looking", "t book", "t runs", "t runs 2 of 3", "status files:  a.txt text/plain hi", "Hi", "instead: Bye", "t ended: ", `asks {"id":"q","question":"Sure?","options":["A","B"]}`, "tool_calls"}},
		"lines": {lines, `{"type":"text","text":"Hi"}` + "\n\n" + `{"type":"working"}` + "\r\n" +
			`{"type":"tool","id":"c1","name":"search","arguments":{"q":"x"}}` + "\n" + `{"type":"result","id":"c1","text":"3 hits"}` + "\n" +
			`{"type":"tool","id":"c2","name":"send"}` + "\n" + `{"type":"result","id":"c2","error":"no line"}` + "\n" +
			`{"type":"done","usage":{"inputTokens":5,"outputTokens":1}}`,
			[]string{"Hi", "c1 search", `c1  {"q":"x"}`, "c1 runs", "c1 ended: 3 hits", "c2 send", "c2 runs", "c2 ended: no line", "usage 5 1 0", "stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := told(t.Context(), opened(t, serve(t, c.media, c.body)), hello)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// An answer that is not complete is a failure with its reason, and without the key.
func TestFailures(t *testing.T) {
	const sse, lines = "text/event-stream", "application/x-ndjson"
	for name, c := range map[string]struct{ media, body, want string }{
		"cut":                  {sse, events(started, spoke), "the stream ended before the answer did"},
		"cut lines":            {lines, `{"type":"text","text":"Hi"}` + "\n", "the stream ended before the answer did"},
		"an error":             {sse, events(started, `{"type":"RUN_ERROR","message":"the key `+key+` is bad","code":"oops"}`), "the key *** is bad (oops)"},
		"an error in lines":    {lines, `{"type":"error","message":"out of tea"}` + "\n", "out of tea"},
		"a mute error":         {sse, events(`{"type":"RUN_ERROR"}`), "without a message"},
		"no JSON":              {sse, events("hello"), "can't be read"},
		"no JSON in lines":     {lines, "hello\n", "can't be read"},
		"a page":               {"text/html", "<html><title>Login</title></html>", "Login"},
		"plain text":           {"text/plain", "Hi", `"text/plain" instead of text/event-stream or application/x-ndjson`},
		"a call without an id": {sse, events(started, `{"type":"TOOL_CALL_START","toolCallName":"x"}`), "without an id"},
		"an event without end": {sse, "data: " + strings.Repeat("x", maxEvent+1), "too long"},
		"a line without end":   {lines, strings.Repeat("x", maxEvent+1), "too long"},
		"calls without end":    {lines, manyCalls(), "too many"},
		"a pause for nothing":  {sse, events(started, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":""}]}}`), "without a question"},
		"no questions":         {sse, events(started, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[]}}`), "without a question"},
		"a wrong patch":        {sse, events(started, `{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/none"}]}`), "does not fit"},
		"a patch of nothing":   {sse, events(started, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a/9999/b","value":1}]}`), "does not fit"}, // and not a list of 9,999 nulls
		"a text without end":   {lines, strings.Repeat(`{"type":"text","text":"`+strings.Repeat("x", maxText/2)+`"}`+"\n", 3), "too long"},
		"a long replacement":   {lines, `{"type":"text","text":"a"}` + "\n" + `{"type":"replace","text":"` + strings.Repeat("x", maxText+1) + `"}` + "\n", "too long"},
		"a wrong file":         {lines, `{"type":"file","name":"x","data":"%"}`, "can't be read"},
		"a file that is large": {lines, `{"type":"file","name":"x","data":"` + strings.Repeat("AAAA", llm.MaxFile/3+1) + `"}`, "can't be read"},
		"nothing":              {sse, "", "the stream ended before the answer did"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := told(t.Context(), opened(t, serve(t, c.media, c.body)), hello)
			f, ok := errors.AsType[*llm.Failure](err)
			if !ok || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), key) || (f.Kind == llm.WrongAddress) != (name == "a page") {
				t.Errorf("%v", err)
			}
		})
	}
}

func manyCalls() string {
	var b strings.Builder
	for i := range maxCalls + 1 {
		fmt.Fprintf(&b, `{"type":"tool","id":"c%d","name":"x"}`+"\n", i)
	}
	return b.String()
}

// The request is a run of AG-UI with the whole conversation.
func TestRequest(t *testing.T) {
	var got map[string]any
	var header http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(started, spoke, finished)) // the client can have left
	}))
	defer s.Close()
	m := opened(t, s.URL, func(o *models.Options) { o.Model, o.MaxTokens = "tea", 100 })
	_, err := told(t.Context(), m, llm.Request{System: "Be kind.", MaxTokens: 50, Tools: []llm.Tool{{Name: "DO"}}, Messages: []llm.Message{
		{Role: llm.RoleUser, Text: "One"},
		{Role: llm.RoleAssistant, Text: "Two", Calls: []llm.ToolCall{{ID: "c", Name: "DO", Parameters: json.RawMessage(`{"x":`)}}},
		{Role: llm.RoleTool, Call: "c", Text: "done"},
		{Role: llm.RoleUser, Context: true, Text: "It is noon."},
		{Role: llm.RoleUser, Text: "Three", Images: []llm.File{{Type: "image/png", Data: []byte("png")}}},
	}})
	require.NoError(t, err)
	if got["threadId"] == "" || got["runId"] == "" || got["threadId"] == got["runId"] {
		t.Errorf("%v, %v", got["threadId"], got["runId"])
	}
	delete(got, "threadId")
	delete(got, "runId")
	var want map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{"state":{},"tools":[],"forwardedProps":{"model":"tea","maxTokens":50},
		"context":[{"description":"About this moment of the conversation, from the gateway","value":"It is noon."}],
		"protocolVersion":"1.0","messages":[{"id":"system","role":"system","content":"Be kind."},{"id":"m2","role":"user","content":"One"},
		{"id":"m3","role":"assistant","content":"Two","toolCalls":[{"id":"c","type":"function","function":{"name":"DO","arguments":"{}"}}]},
		{"id":"m4","role":"tool","content":"done","toolCallId":"c"},
		{"id":"m5","role":"user","content":[{"type":"text","text":"Three"},{"type":"image","source":{"type":"data","value":"cG5n","mimeType":"image/png"}}]}]}`), &want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if header.Get("Authorization") != "Bearer "+key || !strings.Contains(header.Get("Accept"), "text/event-stream") {
		t.Errorf("%v", header)
	}
}

// A redirect is followed within its origin, with the request as it is. The key and the conversation go nowhere else.
func TestRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s is asked", r.Host) }))
	defer other.Close()
	mux := http.NewServeMux()
	for path, to := range map[string]struct {
		status int
		at     string
	}{"/slash": {307, "/slash/"}, "/away": {307, other.URL}, "/see": {303, "/slash/"}, "/moved": {302, "/slash/"}, "/round": {308, "/round"}, "/up": {307, "//" + strings.TrimPrefix(other.URL, "http://")}} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to.at, to.status) })
	}
	mux.HandleFunc("POST /slash/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), "Hello") || r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("%s, %v", body, err)
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"type":"done"}`) // the client can have left
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	for path, ok := range map[string]bool{"/slash": true, "/away": false, "/see": false, "/moved": false, "/round": false, "/up": false} {
		_, err := told(t.Context(), opened(t, s.URL+path), hello)
		f, failed := errors.AsType[*llm.Failure](err)
		if (err == nil) != ok || failed && (f.Retry || f.Kind != llm.WrongAddress) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Cancelling, and a reader that leaves, close the connection.
func TestCancel(t *testing.T) {
	left := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(started, spoke))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		left <- struct{}{}
	}))
	defer s.Close()
	m := opened(t, s.URL)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	defer cancel(enough)
	var got error
	for c, err := range m.Generate(ctx, hello) {
		if got = err; c.Text != "" {
			cancel(enough)
		}
	}
	if <-left; got != enough {
		t.Error(got)
	}
	for range m.Generate(t.Context(), hello) {
		break
	}
	<-left
}

// What a check finds says what to do. It is about the setting that counts.
func TestCheck(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/good", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(started, spoke, finished))
	})
	mux.HandleFunc("/locked", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://a.test/", http.StatusFound) })
	s := httptest.NewServer(mux)
	defer s.Close()
	if text, err := opened(t, s.URL+"/good").Check(t.Context(), wire.Uses{}); err != nil || text != "the agent answers at "+s.URL+"/good" {
		t.Errorf("%q, %v", text, err)
	}
	for path, want := range map[string]string{
		s.URL + "/none":      "no agent is found at " + s.URL + "/none: correct models.chat[0].url",
		s.URL + "/locked":    "rejected the key: correct models.chat[0].api_key",
		s.URL + "/broken":    "the agent at " + s.URL + "/broken failed: look at its log",
		s.URL + "/moved":     "redirects to another address",
		"http://127.0.0.1:1": "no agent answers at http://127.0.0.1:1: start it or correct models.chat[0].url",
	} {
		if _, err := opened(t, path).Check(t.Context(), wire.Uses{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", path, err)
		}
	}
	of := func(at string) *Model {
		return open(&Config{BaseURL: at, APIKey: key}, models.Options{Provider: "http", Setting: "models.large.model"})
	}
	if _, err := of(s.URL+"/locked").Check(t.Context(), wire.Uses{}); err == nil || !strings.Contains(err.Error(), "correct providers.http.api_key (AGENT_API_KEY)") {
		t.Error(err)
	}
	if text, err := of(s.URL + "/none").Reach(t.Context()); err != nil || !strings.Contains(text, "can be reached") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := of("").Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "providers.http.base_url (AGENT_URL)") {
		t.Error(err)
	}
}

// The key of providers.http is for its address alone.
func TestKeyStaysWithItsAddress(t *testing.T) {
	m := open(&Config{BaseURL: "http://a.test", APIKey: key}, models.Options{URL: "http://b.test", Setting: "models.chat[0].model"})
	if m.APIKey != "" || m.Base.Host != "b.test" {
		t.Errorf("%q for %s", m.APIKey, m.Base)
	}
}

// The error of a call that the agent has made is shown to people, and told to no one with the key in it.
func TestErrorOfCallHidesKey(t *testing.T) {
	lines := `{"type":"tool","id":"a","name":"look"}` + "\n" + `{"type":"result","id":"a","error":"the key ` + key + ` is bad"}` + "\n" + `{"type":"done"}` + "\n"
	chunks, err := told(t.Context(), opened(t, serve(t, "application/x-ndjson", lines)), hello)
	said := strings.Join(chunks, " ")
	if err != nil || !strings.Contains(said, "the key *** is bad") || strings.Contains(said, key) {
		t.Errorf("%q, %v", said, err)
	}
}

// An agent acts by itself, so it is asked again only if it can't have begun.
func TestAgentIsAskedAgainOnlyIfItHasNotBegun(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	stream := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		again  bool
	}{
		"too many requests":     {status(429), true},
		"unavailable":           {status(503), true},
		"an error":              {status(500), false},
		"a late proxy":          {status(504), false},
		"a conflict":            {status(409), false},
		"garbage":               {stream("hello\n"), false},
		"nothing":               {stream(""), false},
		"a reported 503":        {stream(`{"type":"error","code":"503","message":"busy"}` + "\n"), false},
		"a broken connection":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false},
		"a body that is a page": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			_, err := told(t.Context(), opened(t, server.URL), llm.Request{})
			f, ok := errors.AsType[*llm.Failure](err)
			if !ok || f.Retry != c.again {
				t.Errorf("%v; want a failure with Retry %v", err, c.again)
			}
		})
	}
}

// An agent takes part in the trace of the message; without one it gets no header.
func TestTraceparent(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Values("Traceparent")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(started, spoke, finished))
	}))
	t.Cleanup(s.Close)
	ask := func(ctx context.Context) {
		if _, err := told(ctx, opened(t, s.URL), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hi"}}}); err != nil {
			t.Error(err)
		}
	}
	span := trace.Sampler{Share: 1}.Root("run")
	ask(trace.With(t.Context(), span))
	if want := fmt.Sprintf("00-%s-%x-01", span.TraceID(), span.ID); len(got) != 1 || got[0] != want {
		t.Errorf("the agent is told %q; want %q", got, want)
	}
	ask(t.Context())
	if len(got) > 0 {
		t.Errorf("without a trace the agent is told %q", got)
	}
}
