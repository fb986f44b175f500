package modelfake_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/require"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

const (
	user  = `{"role":"user","content":"hi"}`
	calls = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
)

func messages(m ...string) string { return `{"model":"m","messages":[` + strings.Join(m, ",") + `]}` }

// verdicts are, by name, a body and a part of what is said about it; "" is a good body.
type verdicts map[string]struct{ body, want string }

func TestStrictParameters(t *testing.T) {
	with := func(more string) string { return `{"model":"m","messages":[` + user + `],` + more + `}` }
	verdicts{
		"good parameters":        {with(`"temperature":0.5,"max_completion_tokens":5,"seed":1,"tool_choice":"none"`), ""},
		"no JSON":                {`{`, "not a JSON object"},
		"no object":              {`[]`, "not a JSON object"},
		"null":                   {`null`, "model"},
		"no model":               {`{"messages":[` + user + `]}`, "model parameter"},
		"no messages":            {`{"model":"m"}`, "empty array"},
		"empty messages":         {messages(), "empty array"},
		"unknown key":            {with(`"colour":"red"`), "Unrecognized request argument supplied: colour"},
		"tool of another type":   {with(`"tools":[{"type":"magic"}]`), "magic"},
		"tool name with a dot":   {with(`"tools":[{"type":"function","function":{"name":"a.b"}}]`), "a.b"},
		"schema is a list":       {with(`"tools":[{"type":"function","function":{"name":"a","parameters":[]}}]`), "schema"},
		"choice without tools":   {with(`"tool_choice":"auto"`), "tool_choice"},
		"parallel without tools": {with(`"parallel_tool_calls":true`), "parallel_tool_calls"},
		"stream options alone":   {with(`"stream_options":{"include_usage":true}`), "stream_options"},
		"two choices":            {with(`"n":2`), "'n'"},
		"no tokens":              {with(`"max_tokens":0`), ">= 1"},
		"both maxima":            {with(`"max_tokens":1,"max_completion_tokens":1`), "same time"},
		"too hot":                {with(`"temperature":2.1`), "temperature"},
		"top_p":                  {with(`"top_p":1.5`), "top_p"},
	}.hold(t)
}

// TestStrictMessages has LM-09's poisoned histories.
func TestStrictMessages(t *testing.T) {
	call := func(c string) string {
		return messages(user, `{"role":"assistant","tool_calls":[`+c+`]}`, `{"role":"tool","tool_call_id":"a","content":""}`)
	}
	result := func(id string) string { return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"ok"}`, id) }
	verdicts{
		"good":                     {messages(user), ""},
		"good tools":               {messages(user, calls, result("b"), result("a"), `{"role":"assistant","content":"done"}`, user), ""},
		"ids may return later":     {messages(calls, result("b"), result("a"), calls, result("b"), result("a")), ""},
		"unknown role":             {messages(`{"role":"robot","content":"hi"}`), `"robot"`},
		"no content":               {messages(`{"role":"user"}`), "got null"},
		"null content":             {messages(`{"role":"user","content":null}`), "got null"},
		"empty parts":              {messages(`{"role":"user","content":[]}`), "empty array"},
		"number as content":        {messages(`{"role":"user","content":5}`), "not a JSON object of this API"},
		"part of the wrong role":   {messages(`{"role":"system","content":[{"type":"image_url","image_url":{"url":"x"}}]}`), "image_url"},
		"image without address":    {messages(`{"role":"user","content":[{"type":"image_url"}]}`), "image_url.url"},
		"name with a space":        {messages(`{"role":"user","name":"a b","content":"hi"}`), "name"},
		"assistant says nothing":   {messages(user, `{"role":"assistant"}`), "got null"},
		"no calls":                 {messages(user, `{"role":"assistant","content":"x","tool_calls":[]}`), "empty array"},
		"calls of a user":          {messages(strings.Replace(calls, `"assistant",`, `"user","content":"",`, 1)), "has 'tool_calls'"},
		"result of a user":         {messages(`{"role":"user","content":"","tool_call_id":"a"}`), "tool_call_id"},
		"result without a call":    {messages(user, result("a")), "preceding message"},
		"result of another call":   {messages(calls, result("a"), result("c")), "preceding message"},
		"result twice":             {messages(calls, result("a"), result("a")), "preceding message"},
		"result missing":           {messages(calls, result("a")), "Without response: b"},
		"results missing, goes on": {messages(calls, user), "Without response: a, b"},
		"call without id":          {call(`{"type":"function","function":{"name":"f","arguments":""}}`), "Missing 'id'"},
		"call without type":        {call(`{"id":"a","function":{"name":"f","arguments":""}}`), "Invalid type"},
		"call without name":        {call(`{"id":"a","type":"function","function":{"name":"","arguments":""}}`), "function name"},
		"call with null arguments": {call(`{"id":"a","type":"function","function":{"name":"f","arguments":null}}`), "got null"},
		"two calls with one id":    {messages(strings.Replace(calls, `"b"`, `"a"`, 1)), "Duplicate"},
	}.hold(t)
}

func (all verdicts) hold(t *testing.T) {
	for name, c := range all {
		t.Run(name, subtest.With(inBubble, modelfake.Options{}, func(t *testing.T, s endpoint) {
			resp, body, err := s.say(t, c.body)
			require.NoError(t, err)
			rejected := s.Rejected()
			if c.want == "" {
				if resp.StatusCode != 200 || len(rejected) > 0 {
					t.Errorf("%s %s", resp.Status, body)
				}
				return
			}
			if resp.StatusCode != 400 || !strings.HasPrefix(body, `{"error":{"message":`) || !strings.Contains(body, `"type":"invalid_request_error"`) {
				t.Errorf("%s %s", resp.Status, body)
			}
			if len(rejected) != 1 || rejected[0].Status != 400 || !strings.Contains(rejected[0].Rejected, c.want) {
				t.Errorf("rejected %+v", rejected)
			}
		}))
	}
}
