package telegram

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/connectors"
	"parley/connectors/telegram/telegramfake"
	"parley/core/answer"
	"parley/internal/golden"
	"parley/internal/require"
	"parley/progressive"
	"parley/progressive/markdown"
)

func TestRender(t *testing.T) {
	for name, c := range map[string]struct{ source, html string }{
		"words":              {"hello", "hello"},
		"escapes":            {`a < b && c > "d"`, "a &lt; b &amp;&amp; c &gt; &quot;d&quot;"},
		"references":         {"&lt;b&gt; &amp; &#65;&nbsp;\\*x\\*", "&lt;b&gt; &amp; A\u00a0*x*"},
		"unknown tags":       {"<think>hm **b**</think>\n\n<div>x</div>", "&lt;think&gt;hm <b>b</b>&lt;/think&gt;\n\n&lt;div&gt;x&lt;/div&gt;"},
		"real tags":          {"<b>x", "&lt;b&gt;x"},
		"styles":             {"**b** *i* ~~s~~ ***bi*** `c`", "<b>b</b> <i>i</i> <s>s</s> <i><b>bi</b></i> <code>c</code>"},
		"open style":         {"this is **bo", "this is **bo"},
		"lines":              {"a\nb  \nc\n\n\n\nd", "a\nb\nc\n\nd"},
		"heading":            {"# One\ntext\n\nTwo **x**\n---", "<b>One</b>\n\ntext\n\n<b>Two x</b>"},
		"rule":               {"a\n\n***\n\nb", "a\n\n──────────\n\nb"},
		"code":               {"```go\nif a < b {\n\tx()\n}\n```", "<pre><code class=\"language-go\">if a &lt; b {\n    x()\n}</code></pre>"},
		"open code":          {"x\n```\na **b**", "x\n\n<pre>a **b**</pre>"},
		"odd language":       {"```a\"b<c\nx\n```", "<pre>x</pre>"},
		"indented code":      {"a\n\n    x\n    y", "a\n\n<pre>x\ny</pre>"},
		"empty code":         {"a\n```go\n", "a"},
		"code with ticks":    {"`` a`b ``", "<code>a`b</code>"},
		"code in bold":       {"**a `b` c**", "<b>a <code>b</code> c</b>"},
		"list":               {"- a\n- b\n  - c\n    d\n- e", "• a\n• b\n  • c\n    d\n• e"},
		"numbers":            {"9. a\n10. b\n    more\n\nend", "9. a\n10. b\n    more\n\nend"},
		"loose list":         {"- a\n\n- b", "• a\n\n• b"},
		"tasks":              {"- [x] a\n- [ ] b", "☑ a\n☐ b"},
		"code in a list":     {"1. a\n   ```\n   x\n   ```\n2. b", "1. a\n<pre>x</pre>\n2. b"},
		"quote":              {"> a\n> b\n>\n> > c\n\nd", "<blockquote>a\nb\n\nc</blockquote>\n\nd"},
		"long quote":         {"> " + strings.Repeat("ab ", 168), "<blockquote expandable>" + strings.TrimSpace(strings.Repeat("ab ", 168)) + "</blockquote>"},
		"many lines":         {"a\n" + strings.Repeat("> b\n", 11), "a\n\n<blockquote expandable>b" + strings.Repeat("\nb", 10) + "</blockquote>"},
		"spoiler":            {"||a *b*||", "<tg-spoiler>a <i>b</i></tg-spoiler>"},
		"link":               {"[a *b*](https://example.org/x?a=1&b=\"2\")", `a <i>b</i> (https://example.org/x?a=1&amp;b=&quot;2&quot;)`},
		"link without words": {"[](https://example.org)", "https://example.org"},
		"link with code":     {"[`a`](https://example.org)", `<a href="https://example.org">a</a>`},
		"link in Telegram":   {"[a](tg://resolve?domain=x)", `a (tg://resolve?domain=x)`},
		"link to a person":   {"[a](tg://user?id=42) [b](TG://user?id=42)", `a (tg://user?id=42) b (TG://user?id=42)`},
		"mail address":       {"[write](mailto:eve@example.com), eve@example.com", `write (eve@example.com), eve@example.com`},
		"mention":            {"@eve and (@eve), _@eve_", "@\u2060eve and (@\u2060eve), <i>@\u2060eve</i>"},
		"mention in pieces":  {"@**eve** @*eve*", "@\u2060<b>eve</b> @\u2060<i>eve</i>"},
		"mention of asker":   {"@ada, @Ada: @adam @ada", "@ada, @Ada: @\u2060adam @ada\u2060"},
		"@name elsewhere":    {"`@eve` [@eve](https://a.example) https://a.example/@eve @ 5", "<code>@eve</code> <a href=\"https://a.example\">@eve</a> https://a.example/@eve @ 5"},
		"no sure address":    {"http://localhost/@eve x.y/@eve", "http://localhost/@\u2060eve x.y/@\u2060eve"},
		"link, no slashes":   {"[a](tg:x) [b](https:x.org)", "a (tg:x) b (https:x.org)"},
		"bare link":          {"see https://example.org/a_b_c~d~ or <https://x.org>", "see https://example.org/a_b_c~d~ or https://x.org"},
		"mail":               {"[me](mailto:a@b.org) [a@b.org](mailto:a@b.org) c@d.org", "me (a@b.org) a@b.org c@d.org"},
		"local link":         {"[here](http://localhost:80/x) [there](/docs)", "here (http://localhost:80/x) there (/docs)"},
		"script link":        {"[x](javascript:alert(1))", "x (javascript:alert(1))"},
		"image":              {"![a](https://example.org/i.png) [![b](https://e.org/i.png)](https://f.org)", `<a href="https://example.org/i.png">a</a> <a href="https://f.org">b</a>`},
		"reference link":     {"[a][1]\n\n[1]: https://example.org", "[a][1]\n\n[1]: https://example.org"},
		"table":              {"| a | **b** |\n|--:|:-:|\n| 1 | x |\n| 22 | <b> |", "<pre> a │  b\n───┼────\n 1 │  x\n22 │ &lt;b&gt;</pre>"},
		"normalised":         {"a\tb\rc\u2028d", "a\tb\nc\nd"},
		"broken link":        {"[a](http://b.org/\xff)", "<a href=\"http://b.org/\uFFFD\">a</a>"},
		"broken utf-8":       {"a\xffb", "a\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			parts := rendered(c.source)
			if len(parts) != 1 || parts[0].Text != c.html {
				t.Errorf("got  %+v\nwant %q", parts, c.html)
			}
			checkParts(t, c.source, parts)
		})
	}
	for _, nothing := range []string{"", " \n"} {
		if parts := rendered(nothing); len(parts) != 0 {
			t.Errorf("nothing becomes %+v; want none", parts)
		}
	}
	for _, marks := range []string{"```\n```", "#"} { // not even an answer of nothing but marks is swallowed
		if parts := rendered(marks); len(parts) != 1 || parts[0].Plain != marks {
			t.Errorf("%q becomes %+v", marks, parts)
		}
	}
}

// checkParts holds parts against the server's own rules (TR-04, TR-05, TR-09).
func checkParts(t *testing.T, source string, parts []progressive.Part) {
	t.Helper()
	for i, p := range parts {
		if p.Text == "" { // it is sent as it is
			if n := markdown.UTF16(p.Plain); n > mostText {
				t.Errorf("part %d has %d units", i, n)
			}
			continue
		}
		shown, entities, err := telegramfake.ParseHTML(p.Text)
		if err != nil {
			t.Errorf("part %d of %q: %v\n%s", i, source, err, p.Text)
			continue
		}
		if shown != p.Plain {
			t.Errorf("part %d of %q shows %q, plain is %q", i, source, shown, p.Plain)
		}
		if n := markdown.UTF16(shown); n > mostText {
			t.Errorf("part %d shows %d units", i, n)
		}
		if len(p.Text) > mostRaw || len(entities) > mostEntities {
			t.Errorf("part %d: %d bytes, %d entities", i, len(p.Text), len(entities))
		}
		if !utf8.ValidString(p.Text) {
			t.Errorf("part %d is no UTF-8", i)
		}
	}
}

// A long answer of everything, in testdata as it is rendered.
func TestRenderGolden(t *testing.T) {
	in := require.Value(os.ReadFile(filepath.Join("testdata", "answer.md")))(t)
	parts := rendered(string(in))
	checkParts(t, string(in), parts)
	if len(parts) != 1 {
		t.Fatalf("%d parts; want 1", len(parts))
	}
	golden.Check(t, filepath.Join("testdata", "answer.html"), parts[0].Text+"\n")
}

// TR-04
func TestLengths(t *testing.T) {
	for name, unit := range map[string]string{"ASCII": "a", "CJK": "语", "emoji": "😀", "family": "👨‍👩‍👧", "markup": "<", "quotes": `"`} {
		units := markdown.UTF16(unit)
		for _, n := range []int{mostText - units, mostText, mostText + units, 4095, 4096, 4097, 20000} {
			source := strings.Repeat(unit, n/units)
			parts := rendered(source)
			checkParts(t, name, parts)
			if want := (markdown.UTF16(source) + mostText - 1) / mostText; len(parts) < want || len(parts) > want+1 {
				t.Errorf("%s: %d units in %d parts", name, n, len(parts))
			}
			joined := ""
			for _, p := range parts {
				joined += p.Plain
			}
			if joined != source {
				t.Errorf("%s: %d units: something is lost", name, n)
			}
		}
	}
}

// TR-04: what grows when it is rendered is split again, markup of more than 32 KiB too.
func TestSplitsWhatGrows(t *testing.T) {
	table := "| a | b |\n|---|---|\n" + strings.Repeat("| x | y |\n", 800)
	list := strings.Repeat("1. x\n   - [ ] y\n", 240)
	raw := strings.Repeat("\"&<>", 970)
	links := strings.Repeat("[a](http://a.b/"+strings.Repeat("语", 1250)+") ", 12)
	for name, source := range map[string]string{"table": table, "list": list, "raw": raw, "links": links} {
		parts := rendered(source)
		checkParts(t, name, parts)
		if name != "raw" && name != "list" && len(parts) < 2 {
			t.Errorf("%s is not split", name)
		}
	}
}

// TR-05: 150 bold words lose nothing.
func TestManyEntities(t *testing.T) {
	for name, word := range map[string]string{"bold": "**w%d** ", "code": "`w%d` ", "links": "[w%d](https://example.org) ", "mixed": "**w%d `c` [l](http://x.y)** "} {
		var b strings.Builder
		for i := range 150 {
			fmt.Fprintf(&b, word, i)
		}
		parts := rendered(b.String())
		checkParts(t, name, parts)
		total := 0
		for _, p := range parts {
			_, entities, _ := telegramfake.ParseHTML(p.Text)
			total += len(entities)
		}
		if len(parts) < 2 || total < 150 {
			t.Errorf("%s: %d parts, %d entities; want at least 2 and at least 150", name, len(parts), total)
		}
	}
}

// ST-19: while an answer grows, a part that has another behind it stays as it is, and no prefix is refused (TR-09).
func TestPartsStayWhileTextGrows(t *testing.T) {
	in := require.Value(os.ReadFile(filepath.Join("testdata", "answer.md")))(t)
	for _, text := range []string{
		strings.Repeat(string(in)+"\n\n", 4),
		strings.Repeat("A sentence. ", 320) + "\n\n" + strings.Repeat("> A line of a quote.\n", 60), // is long only behind the end of a part
	} {
		testPartsStay(t, text)
	}
}

func testPartsStay(t *testing.T, text string) {
	t.Helper()
	whole := rendered(text)
	for n := 0; n < len(text); n += 37 {
		parts := rendered(text[:n])
		checkParts(t, text[:n], parts)
		if !utf8.ValidString(text[:n]) {
			continue
		}
		for i := range len(parts) - 1 {
			if parts[i] != whole[i] {
				t.Fatalf("part %d of the first %d bytes changed later:\n%s\n%s", i, n, parts[i].Text, whole[i].Text)
			}
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"# a **b** `c` [d](http://e.f)\n- g\n  > h\n\n```go\ni\n```\n| j | k |\n|---|---|\n| l | m |",
		"<think>\n<b>*a*</b>", "**a *b `c` ~~d~~* [e `f` **g**](http://h.i)**", "> > > a\n> ```\nb", "\\<b\\> &lt; &#0; &#xD800;",
		"[a](tg://user?id=1) [b](tg:x) ![c](http://[::1]/)", "1. a\n   1. b\n      - c\n\n        d", "a\x00b\u200e\u200fc\t\r",
		"- - - a", "[](<>)", "a  \n  \n  b", "|a|\n|-|\n|`|`|", "***a** b*", "- [x] ", "~a~ ~~b~~", "`\n`", "[x](http://a.b/\"><b>)",
	} {
		f.Add(s, 1)
		f.Add(strings.Repeat(s, 40), 3)
	}
	f.Fuzz(func(t *testing.T, source string, step int) {
		if len(source) > 20000 {
			t.Skip("long enough is short enough")
		}
		checkParts(t, source, rendered(source))
		step = max(1, step%97, len(source)/40)
		for n := step; n < len(source); n += step {
			checkParts(t, source[:n], rendered(source[:n]))
		}
	})
}

// rendered is a whole text.
func rendered(text string) []progressive.Part {
	return connectors.Display{Progress: progressive.Off}.Messages(display(false, "ada")).Parts(answer.View{Segments: []answer.Segment{{Text: text}}, Outcome: answer.Outcome{Status: answer.Completed}})
}
