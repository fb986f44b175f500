package markdown_test

import (
	"testing"

	"parley/progressive/markdown"
)

// ST-13: what is open is closed, and what could mean anything is not shown.
func TestOpenMarkupIsClosed(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"**bo":                            "<b>bo</b>",
		"a **b `c":                        "a <b>b <code>c</code></b>",
		"**a b ":                          "<b>a b</b>",
		"**":                              "",
		"x *":                             "x",
		"x **y*":                          "x <b>y</b>",
		"2 * 3":                           "2 * 3",
		"see [x":                          "see",
		"see [x]":                         "see",
		"see [x](http":                    "see",
		"see [x](https://a.org)":          `see <a href="https://a.org">x</a>`,
		"**[x":                            "",
		"see https://exa":                 "see",
		"see https://example.org now":     "see https://example.org now",
		"a <b":                            "a",
		"a &am":                           "a",
		"a \\":                            "a",
		"~~old":                           "<s>old</s>",
		"||hid":                           "<x-spoiler>hid</x-spoiler>",
		"-":                               "",
		"- ":                              "",
		"- a\n- ":                         "• a",
		"1":                               "",
		"1. a\n2":                         "1. a",
		"#":                               "",
		"# T":                             "<b>T</b>",
		"``":                              "",
		"```py":                           "",
		"```py\nx":                        `<pre><code class="language-py">x</code></pre>`,
		"```\nx\n``":                      "<pre>x</pre>",
		"```\nx\n```":                     "<pre>x</pre>",
		"- ```\n  x\n  `":                 "• \n<pre>x</pre>",
		"| a | b":                         "",
		"| a | b |\n":                     "",
		"| a | b |\n|--":                  "",
		"| a | b |\n|--|--|\n| c":         "<pre>a │ b\n──┼──</pre>",
		"| a | b |\n|--|--|\n| c | d |\n": "<pre>a │ b\n──┼──\nc │ d</pre>",
		"text\n-":                         "text",
		"> **q":                           "<blockquote><b>q</b></blockquote>",
		"a\n\n**b\n\nc":                   "a\n\n**b\n\nc",
		"家\xe6\x97":                       "家",
	} {
		text := ""
		for _, p := range markdown.Render(markdown.Interim(in), dialects()[0].d, markdown.Limits{}) {
			text += p.Text
		}
		if text != want {
			t.Errorf("%q is shown as %q, want %q", in, text, want)
		}
	}
}

// SE-06: an address can't hide behind another one.
func TestLinks(t *testing.T) {
	for in, want := range map[string]string{
		"[bank.com](https://evil.org)":               "bank.com (https://evil.org)",
		"[https://bank.com/x](https://evil.org)":     "https://bank.com/x (https://evil.org)",
		"[go to www.bank.com now](https://e.org)":    "go to www.bank.com now (https://e.org)",
		"[docs.bank.com](https://bank.com@evil.org)": "docs.bank.com (https://bank.com@evil.org)",
		"[bank.com](https://www.bank.com/login)":     `<a href="https://www.bank.com/login">bank.com</a>`,
		"[README.md](https://a.org/README.md)":       `<a href="https://a.org/README.md">README.md</a>`,
		"[https://a.org](https://a.org/)":            "https://a.org/",
		"[a@b.org](mailto:a@b.org)":                  "a@b.org",
		"[me](mailto:a@b.org)":                       "me (a@b.org)",
		"[x](data:text/html,1)":                      "x (data:text/html,1)",
		"[x](/local)":                                "x (/local)",
		"[x](app://open?a=1)":                        `x (app://open?a=1)`,
		"[`x`](https://a.org)":                       `<a href="https://a.org">x</a>`,
		"[a [b](https://b.org)](https://a.org)":      `[a <a href="https://b.org">b</a>](https://a.org)`,
		"[![i](https://i.org/i.png)](https://a.org)": `<a href="https://a.org">i</a>`,
	} {
		parts := markdown.Render(markdown.Parse(in), dialects()[0].d, markdown.Limits{})
		if len(parts) != 1 || parts[0].Text != want {
			t.Errorf("%q is shown as %q, want %q", in, parts, want)
		}
	}
}

// ST-11: code that is cut is closed, and opened again with its language.
func TestCutCode(t *testing.T) {
	text := "```go\n" + long("letters", 30) + "\n\n\tsecond line\n\nthird line, longer than the others\n```\nend **of the answer, which is bold**"
	for i, want := range []string{
		"```go\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n\n\tsecond line\n```",
		"```go\nthird line, longer than the others\n```",
		"end **of the answer, which is bold**",
	} {
		parts := markdown.Render(markdown.Parse(text), markdown.Light(), markdown.Limits{Length: 64})
		if len(parts) != 3 || parts[i].Text != want {
			t.Fatalf("%q, want part %d to be %q", parts, i, want)
		}
	}
}
