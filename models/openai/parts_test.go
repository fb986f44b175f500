package openai

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"parley/core/llm"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/models/modeltest"
	"parley/models/wire"
)

// LM-17: content in parts is read like content that is text: Mistral sends its text so, between thoughts and references, and leaving
// out one piece can turn an answer round.
func TestContentInParts(t *testing.T) {
	part := func(content string) modelfake.Step { return modelfake.Delta(`{"content":` + content + `}`) }
	within := func(thoughts int, content string) string {
		return strings.Repeat(`{"type":"thinking","thinking":`, thoughts) + content + strings.Repeat("}", thoughts)
	}
	for name, c := range map[string]struct {
		steps        []modelfake.Step
		text, reason string
	}{
		"a list of text": {[]modelfake.Step{part(`[{"type":"text","text":"It is NOT "}]`), part(`"poisonous."`)}, "It is NOT poisonous.", ""},
		"only lists":     {[]modelfake.Step{part(`[{"type":"text","text":"It is "},{"type":"text","text":"\u00fc."}]`)}, "It is ü.", ""},
		"with thoughts": {[]modelfake.Step{
			part(`[{"type":"thinking","thinking":[{"type":"text","text":"Is it? "}]}]`), part(`[{"type":"thinking","thinking":"No.","closed":true},{"type":"text","text":"No."}]`),
		}, "No.", "Is it? No."},
		"thoughts within thoughts": {[]modelfake.Step{part(within(maxNesting, `"No."`)), part(`"So."`)}, "So.", "No."},
		"nested too deep":          {[]modelfake.Step{part(within(maxNesting+1, `"No."`)), part(`"So."`)}, "So.", ""},
		"with references":          {[]modelfake.Step{part(`[{"type":"text","text":"See"},{"type":"reference","reference_ids":[1]},{"type":"text","text":" it."}]`)}, "See it.", ""},
		"one part":                 {[]modelfake.Step{part(`{"type":"text","text":"One."}`)}, "One.", ""},
		"strings":                  {[]modelfake.Step{part(`["Two ","strings."]`)}, "Two strings.", ""},
		"a refusal":                {[]modelfake.Step{part(`[{"type":"refusal","refusal":"I won't."}]`)}, "I won't.", ""},
		"nothing known":            {[]modelfake.Step{part(`[{"type":"text","text":7},8,null,[]]`), part(`"So."`)}, "So.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			chunks, err := collect(t.Context(), over(t, playing(c.steps...)), hello)
			text, reason := "", ""
			for _, k := range chunks {
				text, reason = text+k.Text, reason+k.Reasoning
			}
			if text != c.text || reason != c.reason || err != nil {
				t.Errorf("%q, reasoning %q, %v; want %q and %q", text, reason, err, c.text, c.reason)
			}
		})
	}
	body := `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"text","text":"It is NOT so."}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`
	chunks, err := collect(t.Context(), over(t, answering(http.StatusOK, body, "Content-Type", "application/json")), hello)
	if err != nil || len(chunks) != 3 || chunks[0].Text != "It is NOT so." || chunks[2].Usage.Completion != 4 {
		t.Errorf("a whole answer: %+v, %v", chunks, err)
	}
}

// LM-18: fields of a call that only the server understands, such as Gemini's signature, go back with the call: to the same model, and
// also if the runtime has left out another call.
func TestOpaqueFieldsOfCalls(t *testing.T) {
	const signed = `"extra_content":{"google":{"thought_signature":"c2lnbmVk+/=="}}`
	for name, server := range map[string]func() modeltest.Answer{
		"in a stream": func() modeltest.Answer { return modeltest.Answer{Extra: "{" + signed + "}"} },
		"at once":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			fake := modeltest.Chat()
			if server != nil {
				an := server()
				an.Calls = []modeltest.Call{{ID: "a", Name: "DO", Arguments: `{"x":1}`}, {ID: "b", Name: "look", Arguments: "{}"}}
				fake.Queue(an)
			}
			whole := server == nil
			body := `{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"DO","arguments":"{\"x\":1}"},` + signed + `},{"id":"b","type":"function","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
			m := over(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if whole {
					whole = false
					answering(http.StatusOK, body, "Content-Type", "application/json")(w, r)
					return
				}
				fake.ServeHTTP(w, r)
			}), func(o *Options) { o.APIKey, o.Model = modeltest.Key, "model-a" })
			chunks := require.Value(collect(t.Context(), m, hello))(t)
			round := llm.Message{Role: llm.RoleAssistant}
			for _, c := range chunks {
				if c.Call != nil && c.Call.Name != "" {
					round.Calls = append(round.Calls, llm.ToolCall{ID: "own-" + c.Call.Name, Name: c.Call.Name, Parameters: []byte("{}")})
				}
				if c.Opaque != nil {
					round.Opaque = c.Opaque
				}
			}
			next := hello
			next.Messages = append(next.Messages[:1:1], round, llm.Message{Role: llm.RoleTool, Call: "own-DO", Text: "done"}, llm.Message{Role: llm.RoleTool, Call: "own-look", Text: "done"})
			sent := func(m *Model) string {
				_, _ = collect(t.Context(), m, next)
				seen := fake.Seen()
				return string(seen[len(seen)-1].Raw)
			}
			if raw := sent(m); strings.Count(raw, signed) != 1 || strings.Index(raw, signed) > strings.Index(raw, "own-look") {
				t.Errorf("sent back: %s", raw)
			}
			next.Messages[1].Calls = round.Calls[:1]
			if raw := sent(m); strings.Count(raw, signed) != 1 {
				t.Errorf("without the other call: %s", raw)
			}
			next.Messages[1].Calls = round.Calls[1:]
			if raw := sent(m); strings.Contains(raw, signed) {
				t.Errorf("another call gets it: %s; want it without %s", raw, signed)
			}
			next.Messages[1].Calls = round.Calls
			other := over(t, fake, func(o *Options) { o.APIKey, o.Model = modeltest.Key, "model-b" })
			if raw := sent(other); strings.Contains(raw, signed) {
				t.Errorf("another model gets it: %s; want it without %s", raw, signed)
			}
		})
	}
}

// What an earlier version has stored is reasoning alone.
func TestKeptOfEarlierVersions(t *testing.T) {
	for _, data := range []string{"", `"I think."`, `[{"type":"reasoning.text","text":"I think."}]`, `{`} {
		if k := readKept([]byte(data)); string(k.Reasoning) != data || k.Calls != nil {
			t.Errorf("%s: %+v", data, k)
		}
	}
}

// The parameters of other requests that are there of their own accord are left out if they are refused, also.
func TestOwnParametersOfUses(t *testing.T) {
	refusing := func(key, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			raw := new(strings.Builder)
			_ = r.Write(raw)
			if strings.Contains(raw.String(), key) {
				answering(http.StatusUnprocessableEntity, `{"error":{"message":"Extra inputs are not permitted","param":"`+key+`"}}`)(w, r)
				return
			}
			answering(http.StatusOK, body, "Content-Type", "application/json")(w, r)
		})
	}
	require.Value(over(t, refusing("response_format", `{"text":"Hello"}`)).Transcribe(t.Context(), "a.ogg", "audio/ogg", []byte("x")))(t)
	require.Value(over(t, refusing("response_format", `{"data":[{"b64_json":"iVBORw0KGgo="}]}`)).GenerateImage(t.Context(), "a cat"))(t)
	require.Value(over(t, refusing("encoding_format", `{"data":[{"index":0,"embedding":[1,2]}]}`)).Embed(t.Context(), []string{"a"}))(t)
}

// Null in extra_body removes what requests have otherwise, except that they are streams.
func TestExtraRemoves(t *testing.T) {
	fake := modelfake.New(modelfake.Options{})
	m := over(t, fake, func(o *Options) {
		o.MaxTokens, o.Extra = 7, map[string]any{"stream_options": nil, "max_tokens": nil, "stream": nil, "seed": nil}
	})
	require.Value(collect(t.Context(), m, hello))(t)
	if raw := string(fake.Requests()[0].Raw); strings.Contains(raw, "stream_options") || strings.Contains(raw, "max_tokens") || strings.Contains(raw, "null") || !strings.Contains(raw, `"stream":true`) {
		t.Error(raw)
	}
}

// A refusal is answered with another request only if the server processed nothing, and has no objection to a value only.
func TestWhatIsNotLearned(t *testing.T) {
	for name, steps := range map[string][]modelfake.Step{
		"within the answer": {modelfake.Text("It"), modelfake.Raw(`{"error":{"code":400,"message":"stream_options is not supported"}}`)},
		"a value":           {modelfake.Status(400, `{"error":{"message":"max_tokens is too large: 7. This model supports at most 5 completion tokens"}}`)},
		"reasoning is due":  {modelfake.Status(400, `{"error":{"message":"Missing reasoning_content field in the assistant message at index 2"}}`)},
		"another status":    {modelfake.Status(403, `{"error":{"message":"stream_options is not supported"}}`)},
		"a filter":          {modelfake.Status(400, `{"error":{"code":"content_filter","message":"stream_options is not supported"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			fake := modelfake.New(modelfake.Options{})
			fake.Queue(steps)
			m := over(t, fake, func(o *Options) { o.MaxTokens = 7 })
			_, err := collect(t.Context(), m, hello)
			if n := len(fake.Requests()); n != 1 || (err == nil) != (name == "a filter") || len(m.Left()) > 0 {
				t.Errorf("%d requests, %v", n, err)
			}
		})
	}
}

// Servers know a limit by one of two names, and some by none.
func TestNamesOfTheLimit(t *testing.T) {
	fake := modelfake.New(modelfake.Options{})
	fake.Queue(modelfake.Script{modelfake.Status(400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}`)},
		modelfake.Script{}, modelfake.Script{modelfake.Status(422, `{"detail":[{"loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted"}]}`)}, modelfake.Script{})
	m := over(t, fake, func(o *Options) { o.MaxTokens = 7 })
	for range 2 {
		require.Value(collect(t.Context(), m, hello))(t)
	}
	for i, want := range []string{`"max_tokens":7`, `"max_completion_tokens":7`, `"max_completion_tokens":7`, ""} {
		if raw := string(fake.Requests()[i].Raw); !strings.Contains(raw, want) || want == "" && strings.Contains(raw, "tokens") {
			t.Errorf("request %d: %s", i, raw)
		}
	}
}

// What requests are made without is logged, without secrets, and told by the check.
func TestLearnedIsTold(t *testing.T) {
	fake := modelfake.New(modelfake.Options{})
	fake.Queue(modelfake.Script{modelfake.Status(422, `{"error":{"message":"stream_options: the key `+testKey+` must not use it"}}`)})
	var log strings.Builder
	m := over(t, fake, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	said, err := m.Check(t.Context(), wire.Uses{})
	if err != nil || !strings.HasSuffix(said, "; it refuses stream_options, so requests are made without") {
		t.Errorf(`%q, %v; want it to end with "; it refuses stream_options, so requests are made without"`, said, err)
	}
	fake.Queue(modelfake.Script{modelfake.Status(400, `{"error":{"message":"Invalid schema for function 'a__b': `+testKey+`"}}`)})
	tools := []llm.Tool{{Name: "a__b", Parameters: []byte(`{}`)}, {Name: "fine", Parameters: []byte(`{}`)}}
	refused, err := m.CheckTools(t.Context(), m, tools)
	if err != nil || len(refused) != 1 || refused[0].Tool != "a__b" || !strings.Contains(refused[0].Why, "Invalid schema") {
		t.Errorf("%+v, %v", refused, err)
	}
	if said := log.String(); strings.Count(said, "\n") != 2 || !strings.Contains(said, "parameter=stream_options") || !strings.Contains(said, "tool=a__b") || strings.Contains(said+refused[0].Why, testKey) {
		t.Error(said)
	}
	fake.Queue(modelfake.Script{modelfake.Status(422, `{"error":{"message":"top_p is too odd"}}`)})
	if _, err := m.Check(t.Context(), wire.Uses{}); err == nil || strings.Contains(err.Error(), "check that it is up") || !strings.Contains(err.Error(), "refused the request: correct the parameter that it names") {
		t.Error(err)
	}
}
