package modeltest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/core/llm"
)

// oddSchemas are schemas of MCP servers and configurations that some provider refuses.
func oddSchemas() []string {
	return []string{
		``, `null`, `[]`, `{}`, `{"type":"object"}`, `{"type":"object","properties":null,"required":null}`, `{"type":["object","null"],"properties":{}}`,
		`{"type":"object","properties":{"a":{"type":"array"},"b":{"type":["array","null"]},"c":{"type":"object"},"d":{"type":"array","items":{"type":"array"}}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"array"}]},"b":true,"c":null}}`,
		`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"type":"string"},"b":{"type":"array"}}}`,
		`{"type":"object","oneOf":[{"type":"object","properties":{"kind":{"const":"x"},"x":{"type":"array"}},"required":["kind"]},{"$ref":"#/$defs/y"}],"$defs":{"y":{"properties":{"kind":{"const":"y"}},"required":["kind","y"]}}}`,
		`{"type":"object","allOf":[{"$ref":"#/definitions/base"},{"properties":{"more":{"enum":[]}}}],"definitions":{"base":{"type":"object","properties":{"a":{"type":"array"}},"required":["a"]}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/$defs/top","$defs":{"top":{"type":"object","properties":{"next":{"$ref":"#/$defs/top"},"to":{"$ref":"https://example.org/x"}}}}}`,
		`{"type":"object","required":["a","gone"],"properties":{"a":{"type":"integer","minimum":0,"exclusiveMinimum":true,"required":true,"enum":null}},"not":{"required":["x"]},"enum":[{"a":1}]}`,
		`{"type":"object","properties":{"a":{"anyOf":[],"description":null,"default":null},"properties":{"type":"array"},"$ref":{"type":"string"},"required":{"type":"boolean"}}}`,
	}
}

// testSchemas covers LM-16: no schema of a tool breaks an answer, whatever a strict server refuses.
func testSchemas(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	req := hello
	for i, schema := range oddSchemas() {
		req.Tools = append(req.Tools, llm.Tool{Name: fmt.Sprintf("odd_%d", i), Description: "It is odd.", Parameters: json.RawMessage(schema)})
	}
	if a, err := ask(t.Context(), m, req); err != nil || a.text != "OK" {
		t.Errorf("%+v, %v", a, err)
	}
	valid(t, fake)
	if seen := fake.Seen(); len(seen) != 1 || !strings.Contains(string(seen[0].Raw), "odd_14") {
		t.Errorf("%d requests", len(seen))
	}
}

// testRefusedTool covers LM-16: a tool that the server refuses all the same is left out, by its name or its place, and not tried again
// until its definition changes.
func testRefusedTool(t *testing.T, s Suite) {
	fake, m := s.serve(t, "model-a")
	refuse := func(status int, message string) Answer {
		return Answer{Fails: &Refusal{Status: status, Kind: "invalid_request_error", Message: message}}
	}
	req := withTools(hello)
	offered := func(n int) string {
		raw := string(fake.Seen()[n].Raw)
		return fmt.Sprint(strings.Contains(raw, `"DO"`), strings.Contains(raw, `"look_up"`))
	}
	fake.Queue(refuse(400, "Invalid schema for function 'look_up': the pattern is odd."), Answer{}, Answer{}, refuse(422, "tools.0.custom.input_schema: JSON schema is invalid."), Answer{})
	for turn, want := range [][]string{{"true true", "true false"}, {"true false"}, {"true false", "false false"}} {
		before := len(fake.Seen())
		if _, err := ask(t.Context(), m, req); err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		var got []string
		for n := range fake.Seen()[before:] {
			got = append(got, offered(before+n))
		}
		if !slices.Equal(got, want) {
			t.Errorf("turn %d: offered are %q, want %q", turn, got, want)
		}
	}
	req.Tools[1].Description = "It is another one."
	if _, err := ask(t.Context(), m, req); err != nil {
		t.Error(err)
	}
	if n := len(fake.Seen()) - 1; offered(n) != "false true" {
		t.Errorf(`after a change, offered are %s; want "false true"`, offered(n))
	}
	// A refusal of something else that names a tool costs no tool, and is not tried again.
	before := len(fake.Seen())
	fake.Queue(refuse(400, "messages.4: tool_result for look_up without a call"))
	if _, err := ask(t.Context(), m, req); err == nil || len(fake.Seen()) != before+1 {
		t.Errorf("%v after %d requests", err, len(fake.Seen())-before)
	}
}

// testOwnParameters covers LM-16: what requests have of their own accord, and a server refuses, is left out from then on. What the owner
// has configured is not.
func testOwnParameters(t *testing.T, s Suite) {
	for key, status := range s.Own {
		for _, message := range []string{"Unrecognized request argument supplied: " + key, `[{"type":"extra_forbidden","loc":["body","` + key + `"],"msg":"Extra inputs are not permitted"}]`} {
			fake, m := s.serve(t, cmp.Or(s.OwnModel, "model-a"))
			fake.Queue(Answer{Fails: &Refusal{Status: status, Kind: "invalid_request_error", Message: message}})
			req := withTools(hello)
			req.MaxTokens, req.Readable = 4000, true
			for range 2 {
				if a, err := ask(t.Context(), m, req); err != nil || a.text != "OK" {
					t.Errorf("%s: %+v, %v", key, a, err)
				}
			}
			seen := fake.Seen()
			if len(seen) != 3 {
				t.Errorf("%s: %d requests; want 3", key, len(seen))
			}
			for i, r := range seen {
				if has := strings.Contains(string(r.Raw), `"`+key+`"`); has != (i == 0) {
					t.Errorf("%s: request %d: %s", key, i, r.Raw)
				}
			}
		}
	}
	plain := s
	plain.Open = s.Tuned
	fake, m := plain.serve(t, "model-a")
	fake.Queue(Answer{Fails: &Refusal{Status: 400, Kind: "invalid_request_error", Message: "Unsupported parameter: temperature, top_p"}})
	if _, err := ask(t.Context(), m, hello); err == nil || len(fake.Seen()) != 1 {
		t.Errorf("configured parameters: %v after %d requests", err, len(fake.Seen()))
	}
}

// testForms covers LM-17: an answer is read in whatever form it comes: a stream with a wrong label, or all at once.
func testForms(t *testing.T, s Suite) {
	for name, an := range map[string]Answer{
		"labelled as JSON": {Label: "application/json"}, "labelled as text": {Label: "text/plain; charset=utf-8"}, "at once": {Whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			fake, m := s.serve(t, "model-a")
			an.Think, an.Text = "hm", []string{"It is ", "<b>NOT</b> \"ü\"."}
			an.Calls = []Call{{"a", "DO", `{"x":1}`}, {"b", "look_up", `{}`}}
			fake.Queue(an)
			a, err := ask(t.Context(), m, withTools(hello))
			var calls []string
			for _, c := range a.calls {
				calls = append(calls, c.Name+string(c.Parameters))
			}
			if err != nil || a.text != `It is <b>NOT</b> "ü".` || !slices.Equal(calls, []string{`DO{"x":1}`, `look.up{}`}) || a.finish != llm.FinishCalls || a.usage == nil || a.usage.Completion < 1 {
				t.Errorf("%+v, usage %+v: %v", a, a.usage, err)
			}
			valid(t, fake)
		})
	}
}
