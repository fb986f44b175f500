package xmlform

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read scans pieces to the end.
func read(opt Options, pieces ...string) (string, Result) {
	s := New(opt)
	var text strings.Builder
	for _, p := range pieces {
		text.WriteString(s.Write(p))
	}
	rest, r := s.Close(false)
	return text.String() + rest, r
}

// everyCut scans text cut at each two places, and byte by byte, and fails unless all results are the same.
func everyCut(t *testing.T, opt Options, text string) (string, Result) {
	t.Helper()
	said, result := read(opt, text)
	same := func(how string, pieces ...string) {
		t.Helper()
		if again, r := read(opt, pieces...); again != said || !reflect.DeepEqual(r, result) {
			t.Fatalf("%s\n%q\nwhole: %q %+v\n  cut: %q %+v", how, text, said, result, again, r)
		}
	}
	same("byte by byte", strings.Split(text, "")...)
	bytes := make([]string, len(text))
	for i := range bytes {
		bytes[i] = text[i : i+1]
	}
	same("bytes", bytes...)
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j += 1 + len(text)/20 {
			same("cut", text[:i], text[i:j], text[j:])
		}
	}
	return said, result
}

// all permits all calls.
func all([]Call, string) bool { return true }

// LM-10: wherever a text is cut, the same of it is shown, and no thought is.
func TestThoughts(t *testing.T) {
	tests := map[string]struct{ text, thought string }{
		"":                                   {"", ""},
		"plain":                              {"plain", ""},
		"<b>bold</b>":                        {"<b>bold</b>", ""},
		" \n leading space":                  {" leading space", ""},
		"<think>hm</think>answer":            {"answer", "hm"},
		"<THINK>hm</Think>answer":            {"answer", "hm"},
		"\n<think>\nhm\n</think>\n\nanswer ": {"answer ", "hm"},
		"<think></think>answer":              {"answer", ""},
		"<think>a <think> b</think>answer":   {"answer", "a <think> b"},
		"<think>a\n<think>\nb\n</think>\nc\n</think>answer": {"answer", "a\n<think>\nb\n</think>\nc"},
		"<think>a\n<think>\nb\n</think>answer":              {"answer", "a\n<think>\nb\n</think>"},
		"<think>hm</think>a </think> b":                     {"a  b", "hm"},
		"thought first\n</think>\nanswer":                   {"thought first\n\nanswer", ""},
		"use <think>x</think> for thoughts":                 {"use <think>x</think> for thoughts", ""},
		"`<think>` is a tag":                                {"`<think>` is a tag", ""},
		"it ends with `</think>`, see":                      {"it ends with `</think>`, see", ""},
		"```\n<think>\n```\nis a tag":                       {"```\n<think>\n```\nis a tag", ""},
		"<thi":                                              {"<thi", ""},
		"<thinker>":                                         {"<thinker>", ""},
		"<thinking>hm</thinking>answer":                     {"answer", "hm"},
		"<reasoning>hm</think></reasoning>answer":           {"answer", "hm</think>"},
		"<think>never ended":                                {"never ended", ""},
		"<think>ends in half a tag</thin":                   {"ends in half a tag</thin", ""},
		"<think>hm</think>":                                 {"", "hm"},
		"<think>hm</think><think>x</think>y":                {"y", "hm\nx"},
		"<think>ü</think>ü👩‍👩‍👧":                            {"ü👩‍👩‍👧", "ü"},
		"<think/>answer":                                    {"<think/>answer", ""},
	}
	for text, want := range tests {
		if said, r := everyCut(t, Options{}, text); said != want.text || r.Thought != want.thought {
			t.Errorf("%q: %q, thought %q; want %q and %q", text, said, r.Thought, want.text, want.thought)
		}
	}
}

// What never ended stays hidden where the model has said or done something else.
func TestUnendedThoughts(t *testing.T) {
	s := New(Options{})
	_ = s.Write("<think>hm")
	if rest, r := s.Close(true); rest != "" || r.Thought != "hm" {
		t.Errorf("%q %+v", rest, r)
	}
}

// LM-11: the form, and what models make of it.
func TestForm(t *testing.T) {
	reply := []Call{{Name: "REPLY"}}
	tests := map[string]struct {
		text string
		want Result // without the counts
	}{
		"<response>\n  <thought>hm</thought>\n  <actions>REPLY</actions>\n  <providers></providers>\n  <text>Hi\n\nthere</text>\n</response>": {
			"Hi\n\nthere", Result{Thought: "hm", Calls: reply}},
		"<response><text>Hi</text><actions>REPLY</actions><thought>hm</thought></response>": {"Hi", Result{Thought: "hm", Calls: reply}},
		"<response><text>\n    Hi\n  </text></response>":                                    {"Hi", Result{}},
		"<response><actions>REPLY,ROLL_DICE</actions><providers>TIME, FACTS</providers><text>x</text></response>": {
			"x", Result{Calls: []Call{{Name: "REPLY"}, {Name: "ROLL_DICE"}}, Providers: []string{"TIME", "FACTS"}}},
		"```xml\n<response><text>Hi</text></response>\n```":                {"Hi", Result{}},
		"Here is it:\n```xml\n<response><text>Hi</text></response>\n```\n": {"Hi", Result{Thought: "Here is it:"}},
		"<think>hm</think><response><text>Hi</text></response>":            {"Hi", Result{Thought: "hm"}},
		"<think>hm\n<response><text>Hi</text></response>":                  {"Hi", Result{Thought: "hm"}},
		"<response><text><think>hm</think>Hi</text></response>":            {"Hi", Result{Thought: "hm"}},
		"<response><text>Hi":                                                                          {"Hi", Result{}},
		"<response><text>Hi</te":                                                                      {"Hi", Result{}},
		"<response><text>Hi <3":                                                                       {"Hi <3", Result{}},
		"<response><thought>hm<text>Hi</text></response>":                                             {"Hi", Result{Thought: "hm"}},
		"<response><thought>hm\n<text>Hi</text></response>":                                           {"Hi", Result{Thought: "hm"}},
		"<response><thought>put it in <text></thought><text>Hi</text></response>":                     {"Hi", Result{Thought: "put it in <text>"}},
		"<response><text>Hi\n<actions>REPLY</actions></response>":                                     {"Hi", Result{Calls: reply}},
		"<response><text>Hi<actions>REPLY</actions></response>":                                       {"Hi", Result{Calls: reply}},
		"<response><text>Hi<actions>REPLY</response>":                                                 {"Hi", Result{Calls: reply}},
		"<response><actions>REPLY<text>Hi</text></response>":                                          {"Hi", Result{Calls: reply}},
		"<response><text>Hi <thought>hm</thought></text></response>":                                  {"Hi", Result{Thought: "hm"}},
		"<response><text>The <thought> tag holds thoughts.</text></response>":                         {"The <thought> tag holds thoughts.", Result{}},
		"<response><text>`<actions>` and `</text>` are tags.</text></response>":                       {"`<actions>` and `</text>` are tags.", Result{}},
		"<response><text>a ` b</text><actions>REPLY</actions></response>":                             {"a ` b", Result{Calls: reply}},
		"<response><text>```xml\n<response>\n<text>x</text>\n</response>\n```\nSo.</text></response>": {"```xml\n<response>\n<text>x</text>\n</response>\n```\nSo.", Result{}},
		"<response><text>```\n<text>x</text>\n<actions>X</actions>\n```\nSo.</text></response>":       {"```\n<text>x</text>\n<actions>X</actions>\n```\nSo.", Result{}},
		"<response><text>```go\nif a < b {</text></response>":                                         {"```go\nif a < b {", Result{}},
		"<response><text>In SVG <text>x</text> is text.</text></response>":                            {"In SVG <text>x</text> is text.", Result{}},
		"<response><text>a && b < c &amp; <br> </p></text></response>":                                {"a && b < c &amp; <br> </p>", Result{}},
		"<response><thought>hm</thought>Hi</response>":                                                {"Hi", Result{Thought: "hm"}},
		"<response><thought>hm</thought><text>Hi</text></response>\nBye":                              {"Hi\n\nBye", Result{Thought: "hm"}},
		"Hi":                               {"Hi", Result{}},
		"Hi <actions>REPLY</actions>":      {"Hi", Result{Calls: reply}},
		"Use the <thought> tag.":           {"Use the <thought> tag.", Result{}},
		"`<text>` is a tag":                {"`<text>` is a tag", Result{}},
		strings.Repeat("long ", 60) + "<3": {strings.Repeat("long ", 60) + "<3", Result{}},
		"<response><actions>IGNORE</actions><text></text></response>": {"", Result{Calls: []Call{{Name: "IGNORE"}}}},
		"<response><actions>IGNORE</actions><text/></response>":       {"", Result{Calls: []Call{{Name: "IGNORE"}}}},
		"<response><actions>REPLY, DELE":                              {"", Result{Cut: true}},
		"<response><text>Hi</text><actions>REPLY, DELE":               {"Hi", Result{Cut: true}},
		"<response><text>Hi</text></text></response>":                 {"Hi", Result{}},
		"<response><text>Hi</text></think></response>":                {"Hi", Result{}},
		"<RESPONSE><Text>Hi</TEXT></RESPONSE>":                        {"Hi", Result{}},
		"<response><thought>a</thought><action>ROLL</action><parameters>{\"n\":1}</parameters><isFinish>true</isFinish></response>": {
			"", Result{Thought: "a", Calls: []Call{{"ROLL", `{"n":1}`}}, Finish: true}},
		"<response><action></action><providers>TIME</providers><isFinish>false</isFinish></response>": {"", Result{Providers: []string{"TIME"}}},
	}
	for text, want := range tests {
		said, r := everyCut(t, Options{Tags: true}, text)
		if r.Lost > 0 && !r.Cut {
			t.Errorf("%q: %d bytes are lost", text, r.Lost)
		}
		r.Odd, r.Lost, r.Rooted = 0, 0, false
		if diff := cmp.Diff(want.want, r); said != want.text || diff != "" {
			t.Errorf("%q: said %q\n%s", text, said, diff)
		}
	}
}

// LM-13: an answer is whole once its form is closed, and not where that only seems so.
func TestWhole(t *testing.T) {
	for text, want := range map[string]bool{
		"<response><thought>x</thought><text>Hi</text></response>": true,
		"<response><text>Hi</response>":                            true,
		"<response><actions>A</actions></response> \n":             true,
		"<response><actions><action name=\"A\"></response>":        true,
		"<response><text>Hi</text></response> And":                 false,
		"<response><text>Hi</text>":                                false,
		"<response><text>Hi</text></respons":                       false,
		"<response><text>`</response>` ends it":                    false,
		"<think>I write <response></response>":                     false,
		"Hi</response":                                             false,
		"":                                                         false,
	} {
		s := New(Options{Tags: true})
		s.Write(text)
		if got := s.Whole(); got != want {
			t.Errorf("%q: whole is %v; want %v", text, got, want)
		}
		plain := New(Options{})
		if plain.Write(text); plain.Whole() {
			t.Errorf("%q is whole where no form was asked for", text)
		}
	}
}

func TestOpen(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                     true,
		"Hi":                                   true,
		"<response>":                           false,
		"<response><thought>":                  false,
		"<response><text>":                     true,
		"<response><text>Hi <b>":               true,
		"<response><text>Hi</text>":            false,
		"<response><text>Hi</text><actions>":   false,
		"<response><text>Hi</text></response>": false,
		"<think>hm":                            false,
		"<think>hm</think>Hi":                  true,
	} {
		s := New(Options{Tags: true})
		s.Write(text)
		if got := s.Open(); got != want {
			t.Errorf("%q: open is %v; want %v", text, got, want)
		}
	}
}

// A text that goes on begins with the space that belongs to it, and with none that belongs to the form.
func TestJoins(t *testing.T) {
	for text, want := range map[string][2]string{
		"ck fox":                        {"ck fox", "ck fox"},
		" fox":                          {" fox", " fox"},
		"\n\n  The dog":                 {"\n\n  The dog", "\n\n  The dog"},
		"<think>hm</think>\n\nck fox":   {"ck fox", "ck fox"},
		"\n<think>hm</think>\n\nck fox": {"ck fox", "ck fox"},
		"<response>\n <text> fox</text>\n</response>": {"<response>\n <text> fox</text>\n</response>", " fox"},
	} {
		for i, tags := range []bool{false, true} {
			if said, _ := everyCut(t, Options{Tags: tags, Joins: true}, text); said != want[i] {
				t.Errorf("%q, with tags %v: said %q", text, tags, said)
			}
		}
	}
}

// Commas in parameters shred nothing, nor do tags.
func TestActions(t *testing.T) {
	tests := map[string][]Call{
		"REPLY":                               {{Name: "REPLY"}},
		" REPLY , ROLL_DICE ":                 {{Name: "REPLY"}, {Name: "ROLL_DICE"}},
		`["REPLY", "ROLL_DICE"]`:              {{Name: "REPLY"}, {Name: "ROLL_DICE"}},
		"\n- REPLY\n- ROLL_DICE\n":            {{Name: "REPLY"}, {Name: "ROLL_DICE"}},
		"NONE":                                {{Name: "NONE"}},
		"":                                    nil,
		"<action>REPLY</action>":              {{Name: "REPLY"}},
		"<action name='REPLY'/>":              {{Name: "REPLY"}},
		"<action><name>REPLY</name></action>": {{Name: "REPLY"}},
		`<action name="A"><params>{"a":"x, y","b":[1,2]}</params></action><action name="B"></action>`: {{"A", `{"a":"x, y","b":[1,2]}`}, {Name: "B"}},
		`REPLY,<action name="A"><params>{"a":"</params></action></actions>"}</params></action>`:       {{Name: "REPLY"}, {"A", `{"a":"</params></action></actions>"}`}},
		`<action name="A">{"a":1}</action>`: {{"A", `{"a":1}`}},
		`<action><name>A</name><parameters>{"t":"<text>x</text> & \"y\""}</parameters></action>`: {{"A", `{"t":"<text>x</text> & \"y\""}`}},
		`<action name="A"><params><text>x</text></params></action>`:                              {{"A", "<text>x</text>"}},
		`<action name="A"><params>{"a":1}`:                                                       nil, // LM-04
		`<action name="A">`:                                                                      nil,
		`<action name="A"></action><action na`:                                                   {{Name: "A"}},
	}
	for raw, want := range tests {
		_, r := everyCut(t, Options{Tags: true}, "<response><actions>"+raw+"</actions><text>x</text></response>")
		if diff := cmp.Diff(want, r.Calls); diff != "" {
			t.Errorf("%s: %s; want none", raw, diff)
		}
	}
}

func TestParametersBesideTheActions(t *testing.T) {
	for raw, want := range map[string][]Call{
		`<actions>REPLY,A</actions><params>{"x":"1, 2"}</params>`: {{Name: "REPLY"}, {"A", `{"x":"1, 2"}`}},
		`<actions>A,B</actions><params>{"B":{"x":1}}</params>`:    {{Name: "A"}, {"B", `{"x":1}`}},
		`<actions>A,B</actions><params>{"x":1}</params>`:          {{Name: "A"}, {Name: "B"}},
		`<actions>A</actions><params>{"x":"</params>"}</params>`:  {{"A", `{"x":"</params>"}`}},
		`<actions>A</actions><params>not JSON</params>`:           {{"A", `not JSON`}},
		`<actions>A</actions><params></params>`:                   {{Name: "A"}},
	} {
		if _, r := everyCut(t, Options{Tags: true}, "<response>"+raw+"</response>"); !cmp.Equal(r.Calls, want) {
			t.Errorf("%s: %+v", raw, r.Calls)
		}
	}
}

// Calls that were written as text count only where they can be nothing else.
func TestWrittenCalls(t *testing.T) {
	opt := Options{Known: func(name string) bool { return name == "ROLL" || name == "TIME" }, Permit: all}
	tests := map[string]struct {
		text  string
		calls []Call
		cut   bool
	}{
		`<tool_call>{"name":"ROLL","arguments":{"n":2}}</tool_call>`:                                      {"", []Call{{"ROLL", `{"n":2}`}}, false},
		"<tool_call>\n{\"name\": \"ROLL\", \"arguments\": {}}\n</tool_call>\n":                            {"", []Call{{"ROLL", `{}`}}, false},
		`<tool_call>{"name":"ROLL","arguments":{"n":2}}`:                                                  {"", []Call{{"ROLL", `{"n":2}`}}, false},
		`<tool_call>{"name":"ROLL","arguments":{"n":2`:                                                    {"", nil, true},
		`<tool_call>{"name":"ROLL","arguments":{"n":"</tool_call>"}}</tool_call>`:                         {"", []Call{{"ROLL", `{"n":"</tool_call>"}`}}, false},
		`<tool_call>{"name":"FLY","arguments":{}}</tool_call>`:                                            {"", []Call{{"FLY", `{}`}}, false},
		`<tool_call>[{"name":"ROLL","arguments":{}},{"name":"TIME","arguments":"{\"z\":1}"}]</tool_call>`: {"", []Call{{"ROLL", `{}`}, {"TIME", `{"z":1}`}}, false},
		`<tool_call>{"a":1}</tool_call>`:                                                                  {`<tool_call>{"a":1}</tool_call>`, nil, false},
		`The <tool_call> tag`:                                                                             {`The <tool_call> tag`, nil, false},
		"`<tool_call>{\"name\":\"ROLL\",\"arguments\":{}}</tool_call>`":                                   {"`<tool_call>{\"name\":\"ROLL\",\"arguments\":{}}</tool_call>`", nil, false},
		`<function=ROLL>{"n":2}</function>`:                                                               {"", []Call{{"ROLL", `{"n":2}`}}, false},
		`<function=TIME></function>`:                                                                      {"", []Call{{Name: "TIME"}}, false},
		`<function=FLY>{"n":2}</function>`:                                                                {`<function=FLY>{"n":2}</function>`, nil, false},
		"<tool_call>\n<function=ROLL>\n<parameter=n>\n2\n</parameter>\n<parameter=s>\na, b\n</parameter>\n</function>\n</tool_call>": {
			"", []Call{{"ROLL", `{"n":2,"s":"a, b"}`}}, false},
		`<actions><action name="ROLL"><params>{"n":2}</params></action></actions>`: {"", []Call{{"ROLL", `{"n":2}`}}, false},
		`<actions><action name="FLY"/></actions>`:                                  {`<actions><action name="FLY"/></actions>`, nil, false},
		`<actions>ROLL</actions>`:                                                  {`<actions>ROLL</actions>`, nil, false},
		`{"name":"ROLL","arguments":{"n":2}}`:                                      {"", []Call{{"ROLL", `{"n":2}`}}, false},
		"```json\n{\"name\": \"ROLL\", \"parameters\": {\"n\": 2}}\n```":           {"", []Call{{"ROLL", `{"n": 2}`}}, false},
		"<think>hm</think>\n{\"name\":\"ROLL\",\"arguments\":{}}":                  {"", []Call{{"ROLL", `{}`}}, false},
		`<think>hm <tool_call>{"name":"ROLL","arguments":{}}</tool_call>`:          {`hm <tool_call>{"name":"ROLL","arguments":{}}</tool_call>`, nil, false},
		`{"name":"ROLL","arguments":{"n":2`:                                        {"", nil, true},
		`{"name":"ROLL"}`:                                                          {`{"name":"ROLL"}`, nil, false},
		`{"name":"ROLL","arguments":{}} is how to call it.`:                        {`{"name":"ROLL","arguments":{}} is how to call it.`, nil, false},
		`{"name":"Ada","arguments":{}}`:                                            {`{"name":"Ada","arguments":{}}`, nil, false},
		`{"a":{"name":"ROLL","arguments":{}}}`:                                     {`{"a":{"name":"ROLL","arguments":{}}}`, nil, false},
		"So: {\"name\":\"ROLL\",\"arguments\":{}}":                                 {"So: {\"name\":\"ROLL\",\"arguments\":{}}", nil, false},
		"```go\nx := 1\n```":                                                       {"```go\nx := 1\n```", nil, false},
		"```json\n{\"name\": \"Ada\"}\n```":                                        {"```json\n{\"name\": \"Ada\"}\n```", nil, false},
		"`{`":                                                                      {"`{`", nil, false},
		`<tool_call>{"name":"ROLL","arguments":{}}</tool_call></tool_call>`:        {"", []Call{{"ROLL", `{}`}}, false},
		`<tool_call>{"name":"ROLL","arguments":{}}</tool_call></tool_call> So.`:    {`<tool_call>{"name":"ROLL","arguments":{}}</tool_call></tool_call> So.`, nil, false},
		`<tool_call>{"name":"ROLL","arguments":{}}</tool_call><think/>`:            {`<tool_call>{"name":"ROLL","arguments":{}}</tool_call><think/>`, nil, false},
	}
	for text, want := range tests {
		said, r := everyCut(t, opt, text)
		if said != want.text || !cmp.Equal(r.Calls, want.calls) || r.Cut != want.cut {
			t.Errorf("%q: said %q, calls %+v, cut %v", text, said, r.Calls, r.Cut)
		}
		if said, r := everyCut(t, Options{}, text); len(r.Calls) > 0 || !strings.HasPrefix(text, "<think") && said != text {
			t.Errorf("without actions %q: said %q, calls %+v", text, said, r.Calls)
		}
	}
}

// LM-04: a call that is cut anywhere is not made, in whatever form it was written.
func TestCutCalls(t *testing.T) {
	known := func(name string) bool { return name == "DELETE" }
	for _, c := range []struct {
		opt  Options
		text string
		from int // bytes from which on the call is whole
	}{
		{Options{Known: known, Permit: all}, `<tool_call>{"name":"DELETE","arguments":{"path":"/tmp/x"}}</tool_call>`, 58},
		{Options{Known: known, Permit: all}, `<function=DELETE>{"path":"/tmp/x"}</function>`, 34},
		{Options{Known: known, Permit: all}, `<function=DELETE><parameter=path>/tmp/x</parameter></function>`, 62},
		{Options{Known: known, Permit: all}, `<actions><action name="DELETE"><params>{"path":"/tmp/x"}</params></action></actions>`, 84},
		{Options{Known: known, Permit: all}, `{"name":"DELETE","arguments":{"path":"/tmp/x"}}`, 47},
		{Options{Tags: true}, `<response><actions>DELETE,REPLY</actions>`, 41},
		{Options{Tags: true}, `<response><actions><action name="DELETE"><params>{"path":"/tmp/x"}</params></action></actions>`, 94},
		{Options{Tags: true}, `<response><action>DELETE</action>`, 33},
	} {
		for cut := range len(c.text) + 1 {
			_, r := read(c.opt, strings.Split(c.text[:cut], "")...)
			if made := len(r.Calls) > 0; made != (cut >= c.from) {
				t.Errorf("%s: calls %+v", c.text[:cut], r.Calls)
			}
		}
	}
}

// What is no UTF-8, and NUL, never reaches anybody, wherever a piece ends.
func TestCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"a\x00b": "ab", "é👩‍👧": "é👩‍👧", "a\xffb": "a\uFFFDb", "\xe2\x82": "\uFFFD", "\xed\xa0\x80x": "\uFFFDx", "\xff\uFFFD": "\uFFFD\uFFFD",
		"<response>\x00<te\x00xt>Hi</text>": "Hi",
	} {
		if said, _ := everyCut(t, Options{Tags: true}, text); said != want {
			t.Errorf("%q: %q; want %q", text, said, want)
		}
	}
}
