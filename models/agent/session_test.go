package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"parley/core/llm"
	"parley/internal/require"
	"parley/internal/signature"
	"parley/internal/uistream"
	"parley/models"
)

// scripted answers each request with the next body, and records the requests.
type scripted struct {
	*httptest.Server
	got  []map[string]any
	head []http.Header
	raw  [][]byte
}

// answering serves bodies. One that begins with a digit is a status.
func answering(t *testing.T, header http.Header, bodies ...string) *scripted {
	s := &scripted{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		var in map[string]any
		if err = errors.Join(err, json.Unmarshal(data, &in)); err != nil {
			t.Error(err)
		}
		s.got, s.head, s.raw = append(s.got, in), append(s.head, r.Header), append(s.raw, data)
		if len(bodies) == 0 {
			t.Error("one request too many")
			return
		}
		body := bodies[0]
		bodies = bodies[1:]
		switch body {
		case "410":
			http.Error(w, `{"error":"no such interrupt"}`, http.StatusGone)
			return
		case "503":
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		for name := range header {
			w.Header().Set(name, header.Get(name))
		}
		_, _ = io.WriteString(w, body) // the client can have left
	}))
	t.Cleanup(s.Close)
	return s
}

var (
	inLines = http.Header{"Content-Type": {"application/x-ndjson"}}
	inParts = http.Header{"Content-Type": {"text/event-stream"}, http.CanonicalHeaderKey(uistream.Header): {uistream.Version}}
)

// turn is one answer: its state, its opaque data, and its calls.
type turn struct {
	state  json.RawMessage
	opaque *llm.Opaque
	calls  []llm.ToolCall
	acts   bool
	err    error
}

// ask makes a request in a session with this state.
func ask(t *testing.T, m *Model, state json.RawMessage, fresh bool, messages ...llm.Message) (got turn) {
	t.Helper()
	req := llm.Request{System: "Be kind.", Messages: messages, Session: &llm.Session{
		Thread: "T", Run: "R", New: fresh, State: state, User: llm.User{ID: "u1", Name: "Ada", Platform: "discord", Locale: "de"},
	}}
	for c, err := range m.Generate(t.Context(), req) {
		got.err = err
		got.acts = got.acts || c.Acts
		if c.State != nil {
			got.state = c.State
		}
		if c.Opaque != nil {
			got.opaque = c.Opaque
		}
		if c.Call != nil {
			got.calls = append(got.calls, llm.ToolCall{ID: c.Call.ID, Name: c.Call.Name, Parameters: json.RawMessage(c.Call.Parameters)})
		}
	}
	return got
}

func wrote(id, text string) llm.Message { return llm.Message{ID: id, Role: llm.RoleUser, Text: text} }
func said(id, text string) llm.Message {
	return llm.Message{ID: id, Role: llm.RoleAssistant, Text: text}
}

// texts lists the messages of a request.
func texts(in map[string]any) (all []string) {
	list, _ := in["messages"].([]any)
	for _, m := range list {
		f := m.(map[string]any)
		text, _ := f["content"].(string)
		all = append(all, f["role"].(string)+": "+text)
	}
	return all
}

// The thread and the ids of messages stay the same, the state is sent back, and an agent with a memory of its own gets only the new messages.
func TestSession(t *testing.T) {
	s := answering(t, inLines, `{"type":"state","state":{"n":1}}`+"\n"+`{"type":"text","text":"A"}`+"\n"+`{"type":"done"}`, `{"type":"done"}`, `{"type":"done"}`)
	m := opened(t, s.URL, func(o *models.Options) {
		o.Agent.History, o.Agent.Share, o.Agent.SigningKey = models.HistoryLast, []string{models.ShareName}, "sign-0123456789abcdef"
	})
	first := ask(t, m, nil, true, wrote("1", "Hi"), said("2", "Hello"), wrote("3", "One"))
	ask(t, m, first.state, false, wrote("1", "Hi"), said("2", "Hello"), wrote("3", "One"), said("4", "A"), wrote("5", "Two"), llm.Message{Role: llm.RoleUser, Context: true, Text: "noon"}, wrote("6", "Three"))
	ask(t, m, nil, false, wrote("1", "Hi"), said("2", "Hello"), wrote("7", "Edited")) // the state is gone
	want := [][]string{{"system: Be kind.", "user: Hi", "assistant: Hello", "user: One"}, {"user: Two", "user: Three"}, {"system: Be kind.", "user: Edited"}}
	for i, in := range s.got {
		if diff := cmp.Diff(want[i], texts(in)); diff != "" {
			t.Error(diff)
		}
		stamp := s.head[i].Get("Parley-Timestamp")
		if got, want := s.head[i].Get("Parley-Signature"), "v1="+signature.Sign("sign-0123456789abcdef", stamp, s.raw[i]); got != want || stamp == "" {
			t.Errorf("signature %q at %q, want %q", got, stamp, want)
		}
	}
	forwarded := map[string]any{"user": map[string]any{"id": "u1", "name": "Ada", "locale": "de"}}
	if diff := cmp.Diff(forwarded, s.got[0]["forwardedProps"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"n": 1.0}, s.got[1]["state"]); diff != "" || s.got[1]["threadId"] != "T" || s.got[1]["runId"] != "R" {
		t.Errorf("%v %s", s.got[1], diff)
	}
	ids := func(n int) any { return s.got[0]["messages"].([]any)[n].(map[string]any)["id"] }
	if strings.Contains(string(s.raw[0]), `"3"`) || ids(1) == ids(3) {
		t.Errorf("%s", s.raw[0])
	}
}

// An agent with a memory of its own that failed at the first request of a thread gets the system prompt with the next one.
func TestSystemPromptAfterFailure(t *testing.T) {
	s := answering(t, inLines, `{"type":"error","message":"out of tea"}`, `{"type":"text","text":"A"}`+"\n"+`{"type":"done"}`, `{"type":"done"}`)
	m := opened(t, s.URL, func(o *models.Options) { o.Agent.History = models.HistoryLast })
	first := ask(t, m, nil, true, wrote("1", "One"))
	second := ask(t, m, first.state, false, wrote("1", "One"), wrote("2", "Two"))
	ask(t, m, second.state, false, wrote("1", "One"), wrote("2", "Two"), said("3", "A"), wrote("4", "Three"))
	want := [][]string{{"system: Be kind.", "user: One"}, {"system: Be kind.", "user: One", "user: Two"}, {"user: Three"}}
	for i, in := range s.got {
		if diff := cmp.Diff(want[i], texts(in)); diff != "" {
			t.Error(diff)
		}
	}
}

// A question with options is a call, whose result continues the run: once, and announced before.
func TestResume(t *testing.T) {
	asks := `{"type":"text","text":"Let me ask."}` + "\n" + `{"type":"ask","id":"q1","text":"Which?","options":["Red","Blue"]}` + "\n" +
		`{"type":"ask","id":"q2","text":"Pay?","approve":true,"name":"pay","arguments":{"usd":3}}` + "\n" + `{"type":"done"}`
	for name, c := range map[string]struct {
		results []string
		body    string
		want    string
		err     llm.FailureKind
	}{
		"chosen":    {[]string{"Blue", llm.Approved}, `{"type":"done"}`, `[{"interruptId":"q1","status":"resolved","payload":"Blue"},{"interruptId":"q2","status":"resolved","payload":{"approved":true}}]`, ""},
		"late":      {[]string{"Error: late", "Error: denied"}, `{"type":"done"}`, `[{"interruptId":"q1","status":"cancelled"},{"interruptId":"q2","status":"resolved","payload":{"approved":false}}]`, ""},
		"forgotten": {[]string{"Red", llm.Approved}, "410", `[{"interruptId":"q1","status":"resolved","payload":"Red"},{"interruptId":"q2","status":"resolved","payload":{"approved":true}}]`, llm.UnknownQuestion},
		"code":      {[]string{"Red", llm.Approved}, `{"type":"error","message":"which?","code":"unknown_ask"}`, `[{"interruptId":"q1","status":"resolved","payload":"Red"},{"interruptId":"q2","status":"resolved","payload":{"approved":true}}]`, llm.UnknownQuestion},
	} {
		t.Run(name, func(t *testing.T) {
			s := answering(t, inLines, asks, c.body)
			m := opened(t, s.URL)
			first := ask(t, m, nil, true, wrote("1", "Paint"))
			if len(first.calls) != 2 || first.opaque == nil || first.acts || first.calls[0].Name != llm.AskUser {
				t.Fatalf("%+v", first)
			}
			messages := []llm.Message{wrote("1", "Paint"), {Role: llm.RoleAssistant, Text: "Let me ask.", Calls: first.calls, Opaque: first.opaque}}
			for i, r := range c.results {
				messages = append(messages, llm.Message{Role: llm.RoleTool, Call: first.calls[i].ID, Text: r})
			}
			second := ask(t, m, first.state, false, messages...)
			got, err := json.Marshal(s.got[1]["resume"])
			var kind llm.FailureKind
			if f, ok := errors.AsType[*llm.Failure](second.err); ok {
				kind = f.Kind
			}
			if diff := cmp.Diff(jsonOf(t, c.want), jsonOf(t, string(got))); diff != "" || err != nil || !second.acts || kind != c.err {
				t.Errorf("%v, %v, %v\n%s", err, second.acts, second.err, diff)
			}
			if s.got[1]["parentRunId"] != s.got[0]["runId"] || s.got[1]["runId"] == s.got[0]["runId"] {
				t.Errorf("%v", s.got[1])
			}
			if diff := cmp.Diff([]string{"system: Be kind.", "user: Paint", "assistant: Let me ask."}, texts(s.got[1])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func jsonOf(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err, text)
	}
	return v
}

// A question without options is answered by the next message. Words instead of a button, or instead of an approval, are no decision.
func TestResumeInWords(t *testing.T) {
	for asked, want := range map[string]string{
		`{"type":"ask","id":"q","text":"Where to?"}`:                          `[{"interruptId":"q","status":"resolved","payload":"Berlin"}]`,
		`{"type":"ask","id":"q","text":"Which?","options":["Red","Blue"]}`:    `[{"interruptId":"q","status":"cancelled"}]`,
		`{"type":"ask","id":"q","text":"Pay?","approve":true,"name":"pay"}`:   `null`,
		`{"type":"ask","id":"q","text":"Which?","options":["Berlin","Rome"]}`: `[{"interruptId":"q","status":"cancelled"}]`,
	} {
		s := answering(t, inLines, asked+"\n"+`{"type":"done"}`, `{"type":"done"}`, `{"type":"done"}`)
		m := opened(t, s.URL)
		first := ask(t, m, nil, true, wrote("1", "Go"))
		second := ask(t, m, first.state, false, wrote("1", "Go"), said("2", "Where to?"), wrote("3", "Ada: Berlin"))
		got, err := json.Marshal(s.got[1]["resume"])
		if diff := cmp.Diff(jsonOf(t, want), jsonOf(t, string(got))); diff != "" || err != nil || second.acts != (want != "null") {
			t.Errorf("%s: %v, %v\n%s", asked, err, second.acts, diff)
		}
		if third := ask(t, m, second.state, false, wrote("4", "And now?")); third.acts || s.got[2]["resume"] != nil {
			t.Errorf("%s: it is answered twice", asked)
		}
	}
}

// A question is not continued by another agent, if the one that has asked is gone.
func TestResumeOfAnotherAgent(t *testing.T) {
	s := answering(t, inLines, `{"type":"ask","id":"q","text":"Which?","options":["A","B"]}`+"\n"+`{"type":"done"}`)
	first := ask(t, opened(t, s.URL), nil, true, wrote("1", "Go"))
	if len(first.calls) != 1 {
		t.Fatalf("%+v", first)
	}
	other := opened(t, s.URL, func(o *models.Options) { o.Name = "other" })
	got := ask(t, other, nil, true, wrote("1", "Go"), llm.Message{Role: llm.RoleAssistant, Calls: first.calls, Opaque: first.opaque}, llm.Message{Role: llm.RoleTool, Call: first.calls[0].ID, Text: "B"})
	if f, ok := errors.AsType[*llm.Failure](got.err); !ok || f.Kind != llm.UnknownQuestion || len(s.got) != 1 {
		t.Errorf("after %d requests: %+v", len(s.got), got)
	}
}

// A decision that can't have reached the agent, because it is being restarted, is sent when it is back: once.
func TestResumeWaitsForTheAgent(t *testing.T) {
	s := answering(t, inLines, `{"type":"ask","id":"q","text":"Which?","options":["A","B"]}`+"\n"+`{"type":"done"}`, "503", `{"type":"done"}`)
	s.Config.SetKeepAlivesEnabled(false) // an idle connection would hold the clock
	synctest.Test(t, func(t *testing.T) {
		away := 0
		m := opened(t, s.URL, func(o *models.Options) {
			o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if away--; away >= 0 {
					return nil, syscall.ECONNREFUSED
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			}
		})
		messages := []llm.Message{wrote("1", "Go")}
		first := ask(t, m, nil, true, messages...)
		if len(first.calls) != 1 {
			t.Fatalf("%+v", first)
		}
		messages = append(messages, llm.Message{Role: llm.RoleAssistant, Calls: first.calls, Opaque: first.opaque}, llm.Message{Role: llm.RoleTool, Call: first.calls[0].ID, Text: "B"})
		away = 2
		if second := ask(t, m, first.state, false, messages...); second.err != nil || !second.acts || len(s.got) != 3 {
			t.Errorf("after %d requests: %+v", len(s.got), second)
		}
		away = 100
		if third := ask(t, m, first.state, false, messages...); third.err == nil || away < 90 || len(s.got) != 3 {
			t.Errorf("after %d requests: %+v", len(s.got), third)
		}
	})
}

const uiSteps = `data: {"type":"start","messageId":"a1"}

data: {"type":"text-start","id":"t"}

data: {"type":"text-delta","id":"t","delta":"Hi"}

data: {"type":"reasoning-delta","id":"r","delta":"Hm."}

data: {"type":"data-status","id":"s","data":{"text":"Looking"}}

data: {"type":"data-status","id":"s","data":{"text":"Found"}}

data: {"type":"data-note","data":{"text":"not shown"}}

data: {"type":"data-tick","id":"x","data":{"text":"Soon"},"transient":true}

data: {"type":"tool-input-start","toolCallId":"c1","toolName":"find"}

data: {"type":"tool-input-delta","toolCallId":"c1","inputTextDelta":"{\"q\":1}"}

data: {"type":"tool-input-available","toolCallId":"c1","toolName":"find","input":{"q":1}}

data: {"type":"tool-output-available","toolCallId":"c1","output":{"text":"half"},"preliminary":true}

data: {"type":"tool-output-available","toolCallId":"c1","output":"all"}

data: {"type":"file","url":"data:text/plain;base64,aGk=","mediaType":"text/plain"}

data: {"type":"new-kind"}

`

// The chunks of the AI SDK become text, calls, statuses and files.
func TestAISDK(t *testing.T) {
	want := []string{"Hi", "thinks Hm.", "status data-status/s: Looking", "status data-status/s: Found", "status data-tick/x: Soon", "c1 find", `c1  {"q":1}`, "c1 runs",
		"c1 runs half", "c1 ended: all", "status files:   text/plain hi", "status data-tick/x:", "stop"}
	for _, end := range []string{`data: {"type":"finish","finishReason":"stop"}` + "\n\ndata: [DONE]\n\n", "data: [DONE]\n\n"} {
		s := answering(t, inParts, uiSteps+end)
		got, err := told(t.Context(), opened(t, s.URL, inAISDK), hello)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		if s.got[0]["trigger"] != "submit-message" || s.got[0]["id"] == "" {
			t.Errorf("%v", s.got[0])
		}
	}
	for _, wrong := range []string{`{"type":"error","errorText":"out of tea"}`, `{"type":"abort"}`, `{`} {
		if _, err := told(t.Context(), opened(t, answering(t, inParts, "data: "+wrong+"\n\n").URL, inAISDK), hello); err == nil {
			t.Errorf("%s is no failure", wrong)
		}
	}
}

// A tool that only a page can answer leaves no user without a sentence. After text it is only shown.
func TestAISDKPageTool(t *testing.T) {
	const call = `data: {"type":"tool-input-available","toolCallId":"c1","toolName":"locate","input":{}}` + "\n\n" + `data: {"type":"finish"}` + "\n\n"
	if _, err := told(t.Context(), opened(t, answering(t, inParts, call).URL, inAISDK), hello); err == nil || !strings.Contains(err.Error(), "locate") {
		t.Errorf("%v", err)
	}
	text := `data: {"type":"text-delta","id":"t","delta":"Hi"}` + "\n\n"
	require.Value(told(t.Context(), opened(t, answering(t, inParts, text+call).URL, inAISDK), hello))(t)
}

// A route that writes no start gets its message back, too. An approval of an unknown call asks nothing.
func TestAISDKWithoutStart(t *testing.T) {
	s := answering(t, inParts, `data: {"type":"tool-input-available","toolCallId":"c1","toolName":"ask_user","input":{"question":"Which?","options":["Red","Blue"]}}

data: {"type":"tool-approval-request","approvalId":"ap","toolCallId":"none"}

data: {"type":"finish"}

`, `data: [DONE]`+"\n\n")
	m := opened(t, s.URL, inAISDK)
	first := ask(t, m, nil, true, wrote("1", "Paint"))
	if len(first.calls) != 1 {
		t.Fatalf("%+v", first)
	}
	ask(t, m, first.state, false, wrote("1", "Paint"), llm.Message{Role: llm.RoleAssistant, Calls: first.calls, Opaque: first.opaque}, llm.Message{Role: llm.RoleTool, Call: "c1", Text: "Red"})
	list, _ := s.got[1]["messages"].([]any)
	if len(list) != 2 || !strings.Contains(string(s.raw[1]), `"output":"Red"`) {
		t.Fatalf("%s", s.raw[1])
	}
	if last := list[1].(map[string]any); last["role"] != "assistant" { // or else the route takes the user's message for a new one
		t.Errorf("the decision comes before the message that it belongs to: %s", s.raw[1])
	}
}

// A route without a memory has only the request: an answer that asks twice comes back whole, with both decisions.
func TestAISDKAsksTwice(t *testing.T) {
	asking := func(id string) string {
		return `data: {"type":"text-delta","id":"t","delta":"About ` + id + `. "}` + "\n\n" +
			`data: {"type":"tool-input-available","toolCallId":"` + id + `","toolName":"ask_user","input":{"question":"Which?","options":["Red","Blue"]}}` + "\n\n" + `data: {"type":"finish"}` + "\n\n"
	}
	s := answering(t, inParts, asking("c1"), asking("c2"), `data: {"type":"finish"}`+"\n\n")
	m := opened(t, s.URL, inAISDK)
	messages, state := []llm.Message{wrote("1", "Paint")}, []byte(nil)
	for i, color := range []string{"Red", "Blue"} {
		got := ask(t, m, state, i == 0, messages...)
		if len(got.calls) != 1 {
			t.Fatalf("%+v", got)
		}
		state = got.state
		messages = append(messages, llm.Message{Role: llm.RoleAssistant, Text: "Hm.", Calls: got.calls, Opaque: got.opaque},
			llm.Message{Role: llm.RoleTool, Call: got.calls[0].ID, Text: color})
	}
	ask(t, m, state, false, messages...)
	list, _ := s.got[2]["messages"].([]any)
	want := jsonOf(t, `{"id":"reply","role":"assistant","parts":[
		{"type":"text","text":"About c1. "},
		{"type":"tool-ask_user","toolCallId":"c1","state":"output-available","input":{"question":"Which?","options":["Red","Blue"]},"output":"Red"},
		{"type":"text","text":"About c2. "},
		{"type":"tool-ask_user","toolCallId":"c2","state":"output-available","input":{"question":"Which?","options":["Red","Blue"]},"output":"Blue"}]}`)
	if len(list) != 2 {
		t.Fatalf("%v", list)
	}
	if diff := cmp.Diff(want, list[1]); diff != "" {
		t.Error(diff)
	}
}

func inAISDK(o *models.Options) { o.Agent.Protocol = models.ProtocolAISDK }

// A tool that the client answers, and an approval, are questions. The next request has the agent's message with the decisions.
func TestAISDKResume(t *testing.T) {
	s := answering(t, inParts, `data: {"type":"start","messageId":"a1"}

data: {"type":"text-delta","id":"t","delta":"Hi"}

data: {"type":"tool-input-available","toolCallId":"c1","toolName":"ask_user","input":{"question":"Which?","options":["Red","Blue"]}}

data: {"type":"tool-input-available","toolCallId":"c2","toolName":"pay","input":{"usd":3}}

data: {"type":"tool-approval-request","approvalId":"ap","toolCallId":"c2"}

data: {"type":"finish"}

`, `data: [DONE]`+"\n\n")
	m := opened(t, s.URL, inAISDK)
	first := ask(t, m, nil, true, wrote("1", "Paint"))
	if len(first.calls) != 2 {
		t.Fatalf("%+v", first)
	}
	var results []llm.Message
	for _, c := range first.calls {
		result := "Blue"
		if strings.Contains(string(c.Parameters), "approve") {
			result = llm.Approved
		}
		results = append(results, llm.Message{Role: llm.RoleTool, Call: c.ID, Text: result})
	}
	second := ask(t, m, first.state, false, slices.Concat([]llm.Message{wrote("1", "Paint"), {Role: llm.RoleAssistant, Text: "Hi", Calls: first.calls, Opaque: first.opaque}}, results)...)
	list, _ := s.got[1]["messages"].([]any)
	want := jsonOf(t, `{"id":"a1","role":"assistant","parts":[{"type":"text","text":"Hi"},
		{"type":"tool-ask_user","toolCallId":"c1","state":"output-available","input":{"question":"Which?","options":["Red","Blue"]},"output":"Blue"},
		{"type":"tool-pay","toolCallId":"c2","state":"approval-responded","input":{"usd":3},"approval":{"id":"ap","approved":true}}]}`)
	if len(list) != 2 || !second.acts || second.err != nil {
		t.Fatalf("%v, %+v", list, second)
	}
	if diff := cmp.Diff(want, list[1]); diff != "" {
		t.Error(diff)
	}
}

// A question that is sent twice is asked once. A patch that does not fit leaves the status as it was.
func TestRepeated(t *testing.T) {
	const interrupt = `{"id":"q","reason":"input_required","message":"Which?","responseSchema":{"enum":["A","B"]}}`
	const call = `data: {"type":"tool-input-available","toolCallId":"q","toolName":"ask_user","input":{"question":"Which?","options":["A","B"]}}` + "\n\n"
	const approval = `data: {"type":"tool-approval-request","approvalId":"ap","toolCallId":"q"}` + "\n\n"
	for name, c := range map[string]struct {
		header http.Header
		body   string
	}{
		"lines":  {inLines, strings.Repeat(`{"type":"ask","id":"q","text":"Which?","options":["A","B"]}`+"\n", 2) + `{"type":"done"}`},
		"AG-UI":  {http.Header{"Content-Type": {"text/event-stream"}}, events(`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[` + interrupt + "," + interrupt + `]}}`)},
		"AI SDK": {inParts, `data: {"type":"start","messageId":"a1"}` + "\n\n" + call + approval + approval + `data: {"type":"finish"}` + "\n\n"},
	} {
		if got := ask(t, opened(t, answering(t, c.header, c.body).URL), nil, true, wrote("1", "Go")); len(got.calls) != 1 {
			t.Errorf("%s: %+v", name, got.calls)
		}
	}
	got, err := told(t.Context(), opened(t, serve(t, "text/event-stream", events(started,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","content":{"text":"Looking"}}`,
		`{"type":"ACTIVITY_DELTA","messageId":"a","patch":[{"op":"remove","path":"/none"}]}`,
		`{"type":"ACTIVITY_DELTA","messageId":"a","patch":"none"}`, spoke, finished))), hello)
	if !slices.Contains(got, "status a: Looking") || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A number that a user writes is a number for the agent, if its schema wants one.
func TestResumeNumber(t *testing.T) {
	for property, want := range map[string]string{
		`{"type":"integer"}`: `{"age":42}`, `{"type":"number"}`: `{"age":42}`, `{"type":"string"}`: `{"age":"42"}`,
	} {
		s := answering(t, http.Header{"Content-Type": {"text/event-stream"}}, events(`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"q","reason":"input_required","message":"How old?","responseSchema":{"type":"object","properties":{"age":`+property+`}}}]}}`), events(finished))
		m := opened(t, s.URL)
		first := ask(t, m, nil, true, wrote("1", "Go"))
		ask(t, m, first.state, false, wrote("1", "Go"), said("2", "How old?"), wrote("3", "42"))
		got, err := json.Marshal(s.got[1]["resume"])
		if diff := cmp.Diff(jsonOf(t, `[{"interruptId":"q","status":"resolved","payload":`+want+`}]`), jsonOf(t, string(got))); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", property, err, diff)
		}
	}
}

// An agent of an older version that refuses the field with the version is asked without it.
func TestOldAgent(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body) // it is whole, or has no version
		if asked++; strings.Contains(string(data), "protocolVersion") {
			http.Error(w, `{"detail":"protocolVersion: extra fields are not permitted"}`, http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(started, spoke, finished))
	}))
	defer s.Close()
	m := opened(t, s.URL)
	for range 2 {
		if got, err := told(t.Context(), m, hello); err != nil || len(got) != 2 {
			t.Errorf("%q, %v", got, err)
		}
	}
	if asked != 3 {
		t.Errorf("%d requests", asked)
	}
}

// Each of several requests at once is sent again without the version.
func TestOldAgentConcurrently(t *testing.T) {
	const requests = 4
	var all sync.WaitGroup
	all.Add(requests)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body) // it is whole, or has no version
		if strings.Contains(string(data), "protocolVersion") {
			all.Done()
			all.Wait()
			http.Error(w, `{"detail":"protocolVersion: extra fields are not permitted"}`, http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(started, spoke, finished))
	}))
	defer s.Close()
	m := opened(t, s.URL)
	var answers sync.WaitGroup
	for range requests {
		answers.Go(func() {
			if got, err := told(t.Context(), m, hello); err != nil || len(got) != 2 {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	answers.Wait()
}
