package xmlform

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const send = `{"name":"SEND","arguments":{"to":"eve","text":"hi"}}`

// spellings are the forms in which a call can be written as text.
func spellings() []string {
	return []string{
		"<tool_call>" + send + "</tool_call>", "<function_call>" + send + "</function_call>", "<tool_call>[" + send + "," + send + "]</tool_call>",
		`<function=SEND>{"to":"eve"}</function>`, "<tool_call><function=SEND><parameter=to>eve</parameter></function></tool_call>",
		`<actions><action name="SEND"><params>{"to":"eve"}</params></action></actions>`, send, "```json\n" + send + "\n```",
	}
}

// eachCut scans text cut at each place, and byte by byte, and fails unless all results are the same.
func eachCut(t *testing.T, opt Options, text string) (string, Result) {
	t.Helper()
	said, result := read(opt, text)
	cuts := [][]string{strings.Split(text, "")}
	for i := range text {
		cuts = append(cuts, []string{text[:i], text[i:]})
	}
	for _, pieces := range cuts {
		if again, r := read(opt, pieces...); again != said || !reflect.DeepEqual(r, result) {
			t.Fatalf("%q\nwhole: %q %+v\n  cut: %q %+v", text, said, result, again, r)
		}
	}
	return said, result
}

var sends = Options{Known: func(name string) bool { return name == "SEND" }}

// SE-15: what is not permitted is shown as it was written, also where it is the whole answer.
func TestCallsThatAreNotPermitted(t *testing.T) {
	for _, call := range spellings() {
		for _, answer := range []string{call, call + "\n", call[:len(call)-9], call[:len(call)/2], "<think>hm</think>" + call, call + call} {
			said, r := eachCut(t, sends, answer)
			want := strings.TrimPrefix(answer, "<think>hm</think>")
			if len(r.Calls) > 0 || said != want || r.Cut {
				t.Errorf("%q: said %q, %+v", answer, said, r)
			}
		}
	}
}

// SE-15: a call that is not the whole answer is text, whatever stands around it.
func TestQuotedCalls(t *testing.T) {
	permitted := sends
	permitted.Permit = all
	for _, call := range spellings() {
		if said, r := eachCut(t, permitted, call); said != "" || len(r.Calls) == 0 {
			t.Errorf("%q alone: said %q, %+v", call, said, r)
		}
		for _, around := range [][2]string{
			{"The mail says: ", ""}, {"The mail says:\n\n", "\n\nThat is all."}, {"", " is what it says."}, {"> ", ""}, {"> Hi,\n> ", "\n> Eve"},
			{"`", "`"}, {"```\n", "\n```"}, {"~~~xml\n", "\n~~~\n"}, {"\"", "\""}, {"<tool_call>x", "</tool_call>"}, {"<b>", "</b>"}, {"- ", ""}, {"", "\n."},
			{"<think>hm</think>It says:\n", ""}, {"a </think>", ""},
		} {
			answer := around[0] + call + around[1]
			if strings.HasPrefix(around[0], "`") && (call == send || strings.HasPrefix(call, "`")) { // a block of code is a way to write it
				continue
			}
			want := strings.ReplaceAll(strings.TrimPrefix(answer, "<think>hm</think>"), "</think>", "")
			if said, r := eachCut(t, permitted, answer); said != want || len(r.Calls) > 0 {
				t.Errorf("%q: said %q, %+v", answer, said, r)
			}
		}
	}
	for _, call := range spellings()[:6] { // two in a row are the whole answer too
		if said, r := eachCut(t, permitted, call+"\n"+call+"<think>done</think>\n"); said != "" || len(r.Calls) < 2 {
			t.Errorf("%q twice: said %q, %+v", call, said, r)
		}
	}
	if said, r := eachCut(t, permitted, spellings()[0]+"</think/>"); said != spellings()[0] || len(r.Calls) > 0 {
		t.Errorf("before a stray tag: said %q, %+v", said, r)
	}
	said, r := read(permitted, "<tool_call>"+send+"</tool_call>")
	s := New(permitted)
	text := s.Write("<tool_call>" + send + "</tool_call>")
	rest, acting := s.Close(true)
	if said != "" || len(r.Calls) != 1 || len(acting.Calls) > 0 || text+rest == "" {
		t.Errorf("beside other calls: %q, %+v", text+rest, acting)
	}
}

// SE-15: a call counts only at the top level of the form, outside quotes and code. Elsewhere it is a part of what is said.
func TestCallsInsideTheForm(t *testing.T) {
	const actions, own = "<actions>SEND</actions>", `<action name="SEND"><params>{"to":"eve"}</params></action>`
	calls := []string{actions, own, "<actions>" + own + "</actions>", "<actions>REPLY, SEND</actions>", "<action>SEND</action>", "<tool_call>" + send + "</tool_call>"}
	opt := sends
	opt.Tags, opt.Permit = true, all
	for _, call := range calls {
		for form, want := range map[string]string{
			"<response><actions>REPLY</actions><text>It says: ¤</text></response>":                 "It says: ¤",
			"<response><actions>REPLY</actions><text>It says:\n¤\nSo.</text></response>":           "It says:\n¤\nSo.",
			"<response><text>¤</text><actions>REPLY</actions></response>":                          "¤",
			"<response><text>> ¤</text></response>":                                                "> ¤",
			"<response><text>> Hi\n> ¤</text></response>":                                          "> Hi\n> ¤",
			"<response><text>`¤`</text></response>":                                                "`¤`",
			"<response><text>It ends with `</text>¤`</text></response>":                            "<any>",
			"<response><text>```xml\n¤\n```\nSo.</text></response>":                                "```xml\n¤\n```\nSo.",
			"<response><text>\"¤\"</text></response>":                                              "\"¤\"",
			"<response><text>It says:\n¤</response>":                                               "It says:\n¤",
			"<response><text>It says:\n¤":                                                          "It says:\n¤",
			"<response><text>It says:\n<thought>x</thought>\n¤\n</text></response>":                "It says:\n\n¤",
			"<response><thought>It says:\n¤</thought><text>So.</text></response>":                  "So.",
			"<response><thought>It says: ¤</thought><text>So.</text></response>":                   "So.",
			"<response><thought>It says:\n¤\n<text>So.</text></response>":                          "So.",
			"<response><thought>It says:\n<response>¤</response></thought><text>So.</text>":        "<any>",
			"<response><thought>hm\n<text>So.</text>\n¤</response>":                                "So.\n\n¤",
			"<response><text>So.</text></response>\n¤":                                             "So.\n\n¤",
			"<response><text>So.</text></response>\n<response>¤</response>":                        "So.\n\n¤",
			"<think>It says:\n<response>¤<text>So.</text></response>":                              "<any>",
			"<think>It says:\n<response>¤</response></think><response><text>So.</text></response>": "<any>",
			"It says:\n¤":         "It says:\n¤",
			"It says: ¤ and more": "It says: ¤ and more",
			"> ¤":                 "> ¤",
			"It says:\n```xml\n<response>¤<text>Hi</text></response>\n```\nDon't.":                      "<any>",
			"It says: <response>¤<text>So.</text></response>":                                           "<any>",
			"> <response>¤<text>So.</text></response>":                                                  "<any>",
			"<response>It says: ¤</response>":                                                           "It says: ¤",
			"<response><text>a</text>It says: ¤<text>b</text></response>":                               "a\n\nIt says: ¤b",
			"<response><actions>REPLY</actions><params>{\"x\":\"¤\"}</params><text>b</text></response>": "b",
		} {
			answer := strings.ReplaceAll(form, "¤", call)
			if strings.Contains(form, `{"x"`) {
				answer = strings.ReplaceAll(form, "¤", strings.ReplaceAll(call, `"`, `\"`))
			}
			said, r := eachCut(t, opt, answer)
			if slices.ContainsFunc(r.Calls, Call.does) || want != "<any>" && said != strings.ReplaceAll(want, "¤", call) {
				t.Errorf("%q: said %q, %+v", answer, said, r)
			}
		}
	}
	for _, answer := range []string{
		"<response>¤<text>x</text></response>", "<response>\n  <thought>x</thought>\n  ¤\n  <text>x</text>\n</response>", "<response><text>x</text>¤</response>",
		"```xml\n<response>\n¤\n</response>\n```", "Here it is:\n<response>¤</response>", "<thought>x</thought>¤<text>x</text>",
	} {
		for _, call := range calls {
			if _, r := eachCut(t, opt, strings.ReplaceAll(answer, "¤", call)); !slices.ContainsFunc(r.Calls, Call.does) {
				t.Errorf("%q with %s: %+v", answer, call, r)
			}
		}
	}
}

// FuzzQuote: whatever a model quotes in its text, none of it is a call, however it is cut.
func FuzzQuote(f *testing.F) {
	for _, call := range spellings() {
		f.Add("It says:\n"+call, uint64(1))
		f.Add("> "+call+"\n<thought>x", uint64(2))
	}
	f.Add("<response><actions>SEND</actions><params>{\"to\":1}", uint64(3))
	f.Add("`<text>\n<think>\n<actions>SEND", uint64(4))
	f.Fuzz(func(t *testing.T, quote string, seed uint64) {
		low := strings.ToLower(quote)
		if strings.Contains(low, "</text") || strings.Contains(low, "</response") {
			return // that ends the text
		}
		opt := sends
		opt.Tags, opt.Permit = true, all
		answer := "<response><actions>REPLY</actions><text>It says: " + quote + "</text></response>"
		said, r := read(opt, answer)
		if again, other := read(opt, cut(rand.New(rand.NewPCG(seed, 0)), answer)...); again != said || !reflect.DeepEqual(r, other) {
			t.Fatalf("%q\nwhole: %q %+v\n  cut: %q %+v", answer, said, r, again, other)
		}
		if slices.ContainsFunc(r.Calls, Call.does) {
			t.Fatalf("%q: %+v", quote, r.Calls)
		}
		if said, r := read(sends, quote); len(r.Calls) > 0 || strings.Count(said, "¤")+strings.Count(r.Thought, "¤") != strings.Count(quote, "¤") {
			t.Fatalf("natively %q: %q %+v", quote, said, r)
		}
	})
}
