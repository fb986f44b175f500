package telegram

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/connectors"
	"parley/connectors/telegram/telegramfake"
	"parley/core/answer"
	"parley/internal/golden"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/progressive"
	"parley/progressive/markdown"
)

// richly is a text as rich messages; whole reports whether it has ended.
func richly(text string, whole bool) []progressive.Part {
	v := answer.View{Segments: []answer.Segment{{Text: text}}}
	if whole {
		v.Outcome.Status = answer.Completed
	}
	return connectors.Display{Progress: progressive.Off}.Messages(richDisplay(false)).Parts(v)
}

func TestRichBlocks(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"words":        {"a <b> & \"c\"", `{"text":"a \u003cb\u003e \u0026 \"c\"","type":"paragraph"}`},
		"styles":       {"**b** *i* ~~s~~ ||h|| `c`", `{"text":[{"text":"b","type":"bold"}," ",{"text":"i","type":"italic"}," ",{"text":"s","type":"strikethrough"}," ",{"text":"h","type":"spoiler"}," ",{"text":"c","type":"code"}],"type":"paragraph"}`},
		"heading":      {"## One", `{"size":2,"text":"One","type":"heading"}`},
		"rule":         {"a\n\n---", `{"text":"a","type":"paragraph"} {"type":"divider"}`},
		"code":         {"```go\nx()\n```", `{"language":"go","text":"x()","type":"pre"}`},
		"tasks":        {"- [x] a\n- [ ] b", `{"items":[{"blocks":[{"text":"a","type":"paragraph"}],"has_checkbox":true,"is_checked":true},{"blocks":[{"text":"b","type":"paragraph"}],"has_checkbox":true,"is_checked":false}],"type":"list"}`},
		"numbers":      {"9. a\n\n10. b", `{"items":[{"blocks":[{"text":"a","type":"paragraph"}],"type":"1","value":9},{"blocks":[{"text":"b","type":"paragraph"}],"type":"1","value":10}],"type":"list"}`},
		"quote":        {"> a\n> - b", `{"blocks":[{"text":"a","type":"paragraph"},{"items":[{"blocks":[{"text":"b","type":"paragraph"}]}],"type":"list"}],"type":"blockquote"}`},
		"long quote":   {"> " + strings.Repeat("a", 501), `{"text":"` + strings.Repeat("a", 501) + `","type":"expandable_blockquote"}`},
		"table":        {"| a | b |\n|--:|---|\n| 1 |  |", `{"cells":[[{"align":"right","is_header":true,"text":"a","valign":"top"},{"align":"left","is_header":true,"text":"b","valign":"top"}],[{"align":"right","text":"1","valign":"top"},{"align":"left","text":"` + "\u00a0" + `","valign":"top"}]],"is_bordered":true,"type":"table"}`},
		"formulas":     {"$$\nx^2\n$$\n\nso \\(y_1\\).", `{"expression":"x^2","type":"mathematical_expression"} {"text":["so ",{"expression":"y_1","type":"mathematical_expression"},"."],"type":"paragraph"}`},
		"footnote":     {"See[^a], not [^b].\n\n[^a]: *Here*", `{"text":["See",{"reference_name":"a","text":{"text":"a","type":"superscript"},"type":"reference_link"},", not [^b]."],"type":"paragraph"} {"text":["a. ",{"name":"a","text":[{"text":"Here","type":"italic"}],"type":"reference"}],"type":"paragraph"}`},
		"link":         {"[a](https://e.org) <https://x.org> [b](tg://user?id=1)", `{"text":[{"text":"a","type":"url","url":"https://e.org"}," ",{"text":"https://x.org","type":"url","url":"https://x.org"}," ","b"," (tg://user?id=1)"],"type":"paragraph"}`},
		"false link":   {"[bank.com](https://evil.example)", `{"text":["bank.com"," (https://evil.example)"],"type":"paragraph"}`},
		"only marks":   {"#", `{"text":"#","type":"paragraph"}`},
		"empty items":  {"-\n- a\n- b", `{"items":[{"blocks":[{"text":"a","type":"paragraph"}]},{"blocks":[{"text":"b","type":"paragraph"}]}],"type":"list"}`},
		"lines":        {"a\nb", `{"text":["a","\n","b"],"type":"paragraph"}`},
		"a list later": {"1. a\n\nb\n\n- c", `{"items":[{"blocks":[{"text":"a","type":"paragraph"}],"type":"1","value":1}],"type":"list"} {"text":"b","type":"paragraph"} {"items":[{"blocks":[{"text":"c","type":"paragraph"}]}],"type":"list"}`},
	} {
		t.Run(name, func(t *testing.T) {
			parts := richly(c.source, true)
			if len(parts) != 1 || strings.ReplaceAll(parts[0].Text, "\n\n", " ") != c.want {
				t.Errorf("got  %+v\nwant %s", parts, c.want)
			}
			checkRich(t, c.source, parts)
		})
	}
}

// checkRich holds parts against the server's rules and the specification.
func checkRich(t *testing.T, source string, parts []progressive.Part) {
	t.Helper()
	spec := require.Value(telegramfake.SharedSpec())(t)
	for i, p := range parts {
		message := richMessage(p)
		if _, err := telegramfake.ParseRich(message, false); err != nil {
			t.Fatalf("part %d of %.300q: %v\n%.3000s", i, source, err, message)
		}
		if spec != nil && len(message) < 2_000 { // it is slow
			require.NoError(t, spec.CheckValue("InputRichMessage", []byte(message)))
		}
		if strings.TrimSpace(p.Plain) == "" {
			t.Errorf("part %d of %.300q reads as nothing", i, source)
		}
	}
}

func TestRichGolden(t *testing.T) {
	in := require.Value(os.ReadFile(filepath.Join("testdata", "answer.md")))(t)
	parts := richly(string(in), true)
	checkRich(t, string(in), parts)
	if len(parts) != 1 {
		t.Fatalf("%d parts; want 1", len(parts))
	}
	golden.Check(t, filepath.Join("testdata", "answer.blocks"), parts[0].Text+"\n")
}

// TR-16: texts that reach the limits of blocks, levels, columns and characters are within them.
func TestRichLimits(t *testing.T) {
	var wide, deep strings.Builder
	for range 3 {
		wide.WriteString(strings.Repeat("| cell ", 40) + "|\n")
		if wide.Len() < 400 {
			wide.WriteString(strings.Repeat("|---", 40) + "|\n")
		}
	}
	for i := range 12 {
		deep.WriteString(strings.Repeat("  ", i) + "- **a *b ~~c ||d||~~*** [e](https://f.org)[^1]\n")
	}
	deep.WriteString("\n[^1]: g")
	for name, c := range map[string]struct {
		source string
		parts  int
	}{
		"words":   {strings.Repeat("word ", 8_000), 2},
		"items":   {strings.Repeat("- a\n", 700), 3},
		"nested":  {"- a\n" + strings.Repeat("  - b\n", 1_200), 1},
		"columns": {wide.String(), 1},
		"levels":  {deep.String(), 1},
		"quotes":  {strings.Repeat("> ", 12) + "a", 1},
		"code":    {"```\n" + strings.Repeat("code and more\n", 3_000) + "```", 2},
		"tabs":    {"```\n" + strings.Repeat(strings.Repeat("\t", 40)+"a\n", 1_000) + "```", 3},
		"a line":  {"```\na" + strings.Repeat("\t", 30_000) + "a\n```", 2},
		"cells":   {strings.Repeat("| a ", 20) + "|\n" + strings.Repeat("|---", 20) + "|\n" + strings.Repeat("| a |\n", 500), 2},
		"rows":    {"| a | b |\n|---|---|\n" + strings.Repeat("| 1 | 2 |\n", 900), 3},
	} {
		t.Run(name, func(t *testing.T) {
			parts := richly(c.source, true)
			checkRich(t, name, parts)
			if len(parts) != c.parts {
				t.Errorf("%d parts; want %d", len(parts), c.parts)
			}
		})
	}
}

// TR-16: an answer of prose fills its messages, by the length of their blocks.
func TestRichMessagesAreFull(t *testing.T) {
	parts := richly(strings.Repeat(strings.Repeat("Some *plain* words. ", 30)+"\n\n", 120), true)
	for _, p := range parts[:len(parts)-1] {
		if n, _ := measureRich(p.Text); n < 30_000 {
			t.Errorf("a part has %d units", n)
		}
	}
	checkRich(t, "prose", parts)
}

// While an answer grows, a part that has another behind it stays, and no prefix is refused.
func TestRichPartsStayWhileTextGrows(t *testing.T) {
	in := require.Value(os.ReadFile(filepath.Join("testdata", "answer.md")))(t)
	lists := strings.Repeat("- a\n"+strings.Repeat("  - b\n", 100)+"\n", 20) + "- a\n" + strings.Repeat("  - b\n", 300)
	for name, c := range map[string]struct {
		text string
		step int
	}{
		"answer": {strings.Repeat(string(in)+"\n\n", 40), 997},
		"lists":  {lists, 1970},
		"marks":  {strings.Repeat("a \\(x\\) **b** [c](https://d.e) ", 1500), 3970},
		"end":    {strings.Repeat("word ", 6_530) + "\n\n" + strings.Repeat("a \\(x\\) **b** [^1]\n", 20) + "[^1]: c\n\n|a|b|\n|-|-|\n|c|d|", 37},
	} {
		t.Run(name, func(t *testing.T) {
			whole := richly(c.text, true)
			if len(whole) < 2 {
				t.Fatalf("%d parts; want several", len(whole))
			}
			m := connectors.Display{Progress: progressive.Off}.Messages(richDisplay(false))
			from := 0
			if name == "end" {
				from = len(c.text) - 600
			}
			for n := from; n < len(c.text); n += c.step {
				parts := m.Parts(answer.View{Segments: []answer.Segment{{Text: c.text[:n]}}})
				if n%23 == 0 {
					checkRich(t, c.text[:n], parts)
				}
				for i := range len(parts) - 1 {
					if parts[i] != whole[i] {
						t.Fatalf("part %d of the first %d bytes changed later", i, n)
					}
				}
			}
		})
	}
}

func FuzzRich(f *testing.F) {
	for _, s := range []string{
		"# a **b** `c` [d](http://e.f)\n- g\n  > h\n\n```go\ni\n```\n| j | k |\n|---|---|\n| l | m |", "> > > a\n> ```\nb", "- - - a\n- [ ] ",
		"a[^1] \\(x\\) \\(\\)\n\n[^1]: b[^1]\n[^2]:", "$$\n$$\n\n\\[ \\]", "|a|\n|-|\n||", "[](<>) ![c](http://[::1]/) [x](http://a.b/\"><b>)",
		"- \u2060\n- \u200e\n\n# \u200b\n\n> \u2800", "1. a\n   1. b\n      - c\n\n        d", "**\u2060** ~~a~~ `\u00a0`",
	} {
		f.Add(s, 1)
		f.Add(strings.Repeat(s, 40), 3)
	}
	f.Add(strings.Repeat("> a\n> b `c`\n\n```\n\t\t\td\n```\n- e\n\n", 400), 3)
	f.Fuzz(func(t *testing.T, source string, step int) {
		if len(source) > 80_000 {
			t.Skip("two messages are enough")
		}
		checkRich(t, source, richly(source, true))
		step = max(1, step%97, len(source)/10)
		for n := step; n < len(source); n += step {
			checkRich(t, source[:n], richly(source[:n], false))
		}
	})
}

// Random pieces of Markdown, in any order and nesting: nothing is refused.
func TestRichRandom(t *testing.T) {
	marks := []string{"*", "**", "`", "```\n", "\n", "\n\n", "[^1]", "[^1]: ", "](https://a.b)", "[", "> ", "- ", "1. ", "    ", "|", "||", "~~", "# ", "- [x] ",
		" ", "word ", "字", "|-|-|\n", "$$\n", `\(`, `\)`, "https://a.bc/*", "@name", "\t", "\u2060", "---\n", "| a | b |\n|---|---|\n"}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		for range r.IntN(400) {
			b.WriteString(marks[r.IntN(len(marks))])
		}
		text := b.String()
		m := connectors.Display{Progress: progressive.Off}.Messages(richDisplay(false))
		begun, whole := view(text[:r.IntN(len(text)+1)]), view(text)
		whole.Outcome.Status = answer.Completed
		checkRich(t, text, m.Parts(begun))
		checkRich(t, text, m.Parts(whole))
	}
}

// A rich answer is posted, grows and ends, in both ways of streaming, as a rich message without notifications for the users in it.
func TestRichMessages(t *testing.T) {
	for _, mode := range []Streaming{StreamEdits, StreamDrafts} {
		withBot(t, func(t *testing.T, r *botHarness) {
			r.bot.config.Streaming, r.bot.config.Format = mode, FormatRich
			c, s := r.private()
			want := r.grow(s, gateOf(), "run", 50)
			all := r.Messages(c)
			if len(all) != 1 || all[0].Text != want || all[0].Rich == nil {
				t.Fatalf("%s: %+v", mode, all)
			}
			if r.count("sendRichMessage") != 1 || r.count("sendMessage") > 0 || r.count("sendMessageDraft") > 1 || (r.count("sendRichMessageDraft") > 0) != (mode == StreamDrafts) {
				t.Errorf("%s: %v", mode, r.Log())
			}
			if q := r.final("sendRichMessage"); !strings.Contains(q.Params["rich_message"], `"skip_entity_detection":true`) {
				t.Errorf("sent %v", q.Params)
			}
		})
	}
}

// TR-16: where rich messages are refused, the answer is HTML at once, and the chat is not asked again. A server without the method is asked once.
func TestRichRefused(t *testing.T) {
	refusal := func(code int, text string) telegramfake.Fault {
		return telegramfake.Fault{Status: code, Body: fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q}`, code, text)}
	}
	for name, c := range map[string]struct {
		fault     telegramfake.Fault
		html      bool // this chat is asked no more
		elsewhere bool // no other chat is either
	}{
		"no method":      {refusal(404, "Not Found: method not found"), true, true},
		"invalid":        {refusal(400, "Bad Request: RICH_MESSAGE_BLOCK_INVALID"), true, false},
		"not understood": {refusal(400, "Bad Request: can't parse rich message"), true, false},
		"another error":  {refusal(400, "Bad Request: chat not found"), false, false},
		"overload":       {telegramfake.Fault{RetryAfter: 3}, false, false},
	} {
		for _, mode := range []Streaming{StreamEdits, StreamDrafts} {
			withBot(t, func(t *testing.T, r *botHarness) {
				r.bot.config.Format, r.bot.config.Streaming = FormatRich, mode
				c.fault.Method = map[Streaming]string{StreamEdits: "sendRichMessage", StreamDrafts: "sendRichMessageDraft"}[mode]
				r.Fault(c.fault)
				chat, s := r.private()
				if name != "another error" {
					want := r.grow(s, gateOf(), "run", 30)
					if all := r.Messages(chat); len(all) != 1 || all[0].Text != want || (all[0].Rich == nil) != c.html {
						t.Errorf("%s, %s: %+v", name, mode, all)
					}
					if n := r.count(c.fault.Method); c.html && n != 1 {
						t.Errorf("%s, %s: %d requests", name, mode, n)
					}
				} else if _, err := s.Post(t.Context(), s.Render(view("# a"))[0], ""); mode == StreamEdits && !errors.Is(err, progressive.ErrForbidden) {
					t.Errorf("%v", err)
				}
				if got := isRich(s.Render(view("# a"))[0]); got == c.html {
					t.Errorf("%s, %s: rich again: %t", name, mode, got)
				}
				other := newSink(r.bot, address{Chat: chat.ID + 1, Message: 1, Kind: private})
				if got := isRich(other.Render(view("# a"))[0]); got == c.elsewhere {
					t.Errorf("%s, %s: rich elsewhere: %t", name, mode, got)
				}
			})
		}
	}
}

// TR-16: a refusal of a rich message that Telegram doesn't document makes this answer HTML: after three refused edits in a row, and at once at
// its end. The answer is complete, and the chat keeps rich messages.
func TestRichRefusedForUnknownReason(t *testing.T) {
	body := `{"ok":false,"error_code":400,"description":"Bad Request: SOMETHING_NEW"}`
	for name, c := range map[string]struct {
		method     string
		nth, times int
		refused    int  // requests
		html       bool // the answer
	}{
		"each edit":          {"editMessageText", 1, -1, 3, true},
		"two of three edits": {"editMessageText", 1, 2, 2, false},
		"later edits":        {"editMessageText", 5, -1, 3, true},
		"the post":           {"sendRichMessage", 1, -1, 1, true},
	} {
		withBot(t, func(t *testing.T, r *botHarness) {
			r.bot.config.Format = FormatRich
			r.Fault(telegramfake.Fault{Method: c.method, Rich: true, Nth: c.nth, Times: c.times, Status: 400, Body: body})
			chat, s := r.private()
			want, said := r.grow(s, gateOf(), "run", 480), ""
			all := r.Messages(chat)
			for _, m := range all {
				said += m.Text + " "
				if (m.Rich == nil) != c.html {
					t.Errorf("%s: %+v", name, m)
				}
			}
			if strings.TrimSpace(said) != want || (len(all) > 1) != c.html {
				t.Errorf("%s: %d messages with %d of %d bytes", name, len(all), len(said), len(want))
			}
			refused := 0
			for _, q := range r.Log() {
				if q.Fault != "" {
					refused++
				}
			}
			if refused != c.refused {
				t.Errorf("%s: %d refused requests; want %d", name, refused, c.refused)
			}
			if !isRich(newSink(r.bot, s.to).Render(view("# a"))[0]) {
				t.Errorf("%s: the chat has no rich messages any more", name)
			}
		})
	}
}

// Only the last edit of a long rich answer is refused: its text is there nevertheless.
func TestRichLastEditRefused(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.bot.config.Format = FormatRich
		chat, s := r.private()
		id := r.post(s, "a")
		v := view(strings.Repeat("word ", 1000))
		v.Outcome.Status = answer.Completed
		part := s.Render(v)[0]
		r.Fault(telegramfake.Fault{Rich: true, Times: -1, Status: 400, Body: `{"ok":false,"error_code":400,"description":"Bad Request: SOMETHING_NEW"}`})
		if err := s.Edit(t.Context(), id, part); !errors.Is(err, progressive.ErrUnsent) {
			t.Errorf("%v", err)
		}
		parts := s.Render(v)
		require.NoError(t, s.Edit(t.Context(), id, parts[0]))
		if len(parts) != 2 || isRich(parts[0]) || r.Messages(chat)[0].Rich != nil {
			t.Errorf("%d parts", len(parts))
		}
	})
}

// Lines about calls are behind the newest one, below the text, and a repeated message has its mark.
func TestRichLines(t *testing.T) {
	v := view("# Done")
	for _, name := range []string{"one", "two"} {
		v.Segments = append(v.Segments, answer.Segment{Call: name, Tool: answer.Tool{Name: name, Stage: answer.StageEnd, Success: true}})
	}
	v.Outcome.Status = answer.Completed
	parts := connectors.Display{Progress: progressive.Full}.Messages(richDisplay(false)).Parts(v)
	want := `{"blocks":[{"size":1,"text":"Done","type":"heading"},{"blocks":[{"text":"✅ One","type":"paragraph"}],"summary":"✅ Two","type":"details"}],"skip_entity_detection":true}`
	if len(parts) != 1 || richMessage(parts[0]) != want {
		t.Errorf("got  %s\nwant %s", richMessage(parts[0]), want)
	}
	checkRich(t, "lines", parts)
	marked := (&sink{prose: connectors.Display{}.Messages(richDisplay(false))}).Marked(parts[0])
	checkRich(t, "marked", []progressive.Part{marked})
	if text, _ := telegramfake.ParseRich(richMessage(marked), false); !strings.HasSuffix(text, lang.Voice{}.Say("message.repeated")) || !strings.HasSuffix(marked.Plain, lang.Voice{}.Say("message.repeated")) {
		t.Errorf("marked: %s", text)
	}
	if n := markdown.UTF16(parts[0].Plain); n == 0 {
		t.Error("no plain text")
	}
}
