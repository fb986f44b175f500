package markdown_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"parley/progressive/markdown"
)

// addresses are texts with bare addresses, and how Discord and Telegram get them: no mark within an address is a mark of a style, nothing
// is escaped in it or at its end, and what follows it is no part of it.
var addresses = map[string]string{
	"https://web.archive.org/web/*/https://a.example and https://web.archive.org/web/*/https://b.example": "",
	"https://a.example/_x_/ and https://b.example/_y_/":                                                   "",
	"https://a.example/x_ and *more*":                                                                     "https://a.example/x_ and <i>more</i>",
	"https://a.example/x* and https://b.example/y*":                                                       "",
	"**https://b.example/c_d**":                                                                           "<b>https://b.example/c_d</b>",
	"*see https://a.example/x_y*, _https://b.example/c_d_":                                                "<i>see https://a.example/x_y</i>, <i>https://b.example/c_d</i>",
	"**https://a.example/x**and":                                                                          "<b>https://a.example/x</b>and",
	"**see https://web.archive.org/web/*/https://a.example**.":                                            "<b>see https://web.archive.org/web/*/https://a.example</b>.",
	"见https://a.example/x_y_。再见（https://b.example/_z_）“https://c.example/_d_”":                            "",
	"(https://a.example/x_(y)_z). See https://b.example/?a=*&b=_!":                                        "(https://a.example/x_(y)_z). See https://b.example/?a=*&amp;b=_!",
	"`https://a.example/*`, <https://a.example/*x*>, [a *b*](https://a.example/*c*)":                      "<code>https://a.example/*</code>, https://a.example/*x*, <a href=\"https://a.example/*c*\">a <i>b</i></a>",
}

func TestBareAddresses(t *testing.T) {
	light := strings.NewReplacer("<b>", "**", "</b>", "**", "<i>", "*", "</i>", "*", "<code>", "`", "</code>", "`", "&amp;", "&",
		`<a href="https://a.example/*c*">`, "[", "</a>", "](https://a.example/*c*)")
	for in, want := range addresses {
		if want == "" {
			want = in
		}
		html := markdown.Render(markdown.Parse(in), markdown.HTML(markdown.HTMLOptions{}), markdown.Limits{})
		if len(html) != 1 || html[0].Text != want {
			t.Errorf("HTML: %q is written %q, want %q", in, html, want)
		}
		short := markdown.Render(markdown.Parse(in), markdown.Light(), markdown.Limits{})
		if want = light.Replace(want); len(short) != 1 || short[0].Text != want {
			t.Errorf("light: %q is written %q, want %q", in, short, want)
		}
	}
}

// An address that grows is never shown in part, and its text is never taken back.
func TestBareAddressesGrow(t *testing.T) {
	for in := range addresses {
		checkStable(t, in, rand.New(rand.NewPCG(1, 5)))
		for i := range in {
			check(t, markdown.Interim(in[:i]), 300)
		}
	}
	const archive = "See https://web.archive.org/web/*/https://a.example/x"
	for i := range archive {
		parts := markdown.Render(markdown.Interim(archive[:i]), markdown.Light(), markdown.Limits{})
		for _, p := range parts {
			if p.Text != "" && p.Text != "S" && p.Text != "Se" && p.Text != "See" && !strings.HasSuffix("See h", p.Text) && !strings.HasPrefix("See https:/", p.Text) {
				t.Errorf("%q is shown as %q", archive[:i], p.Text)
			}
		}
	}
}
