package telegramfake_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley/connectors/telegram/telegramfake"
)

type entities = []telegramfake.Entity

// TR-09: what HTML mode accepts, and what becomes of it.
func TestParseHTMLAccepts(t *testing.T) {
	for _, c := range []struct {
		in, text string
		want     entities
	}{
		{"plain", "plain", nil},
		{"&lt;&gt;&amp;&quot;&#39;&#x1F600;&nbsp;& &amp", "<>&\"'😀&nbsp;& &", nil},
		{"<b>a</b><strong>b</strong>", "ab", entities{{Type: "bold", Length: 2}}},
		{"<B>x</B >", "x", entities{{Type: "bold", Length: 1}}},
		{"<i>x</>", "x", entities{{Type: "italic", Length: 1}}},
		{"😀<em>e</em>", "😀e", entities{{Type: "italic", Offset: 2, Length: 1}}},
		{"<s>a</s> <strike>b</strike> <del>c</del>", "a b c", entities{
			{Type: "strikethrough", Length: 1}, {Type: "strikethrough", Offset: 2, Length: 1}, {Type: "strikethrough", Offset: 4, Length: 1}}},
		{"<u>a</u> <ins>b</ins>", "a b", entities{{Type: "underline", Length: 1}, {Type: "underline", Offset: 2, Length: 1}}},
		{`<tg-spoiler>a</tg-spoiler> <span class="tg-spoiler">b</span>`, "a b", entities{
			{Type: "spoiler", Length: 1}, {Type: "spoiler", Offset: 2, Length: 1}}},
		{`<a href="https://Example.com?a=1&amp;b=2">x</a>`, "x", entities{{Type: "text_link", Length: 1, URL: "https://example.com/?a=1&b=2"}}},
		{`<a href='tg://user?id=42'>x</a>`, "x", entities{{Type: "text_mention", Length: 1, User: &telegramfake.User{ID: 42}}}},
		{`<a>example.org</a>`, "example.org", entities{{Type: "text_link", Length: 11, URL: "http://example.org/"}}},
		{`<a href="/local">x</a><a href="javascript:x">y</a>`, "xy", nil},
		{"<code>a</code> <pre>b</pre>", "a b", entities{{Type: "code", Length: 1}, {Type: "pre", Offset: 2, Length: 1}}},
		{`<pre><code class="language-go">f()</code></pre>`, "f()", entities{{Type: "pre", Length: 3, Language: "go"}}},
		{`<code class="language-go"><pre>f()</pre></code>`, "f()", entities{{Type: "pre", Length: 3, Language: "go"}}},
		{`<code class="language-go">f()</code>`, "f()", entities{{Type: "code", Length: 3}}},
		{"<blockquote>a</blockquote>", "a", entities{{Type: "blockquote", Length: 1}}},
		{"<blockquote expandable>a</blockquote>", "a", entities{{Type: "expandable_blockquote", Length: 1}}},
		{`<tg-emoji emoji-id="5368324170671202286">👍</tg-emoji>`, "👍", entities{{Type: "custom_emoji", Length: 2, CustomEmojiID: "5368324170671202286"}}},
		{`<tg-time unix="1700000000" format="t">now</tg-time>`, "now", entities{{Type: "date_time", Length: 3, UnixTime: 1700000000, DateTimeFormat: "t"}}},
		{"<b></b>", "", nil},
		{"<tg-emoji></tg-emoji>x", "x", nil}, // nothing in it, nothing wrong with it
		// code holds nothing, and styles around it are cut; quotes are not nested
		{"<code>a<b>b</b></code>", "ab", entities{{Type: "code", Length: 2}}},
		{"<b>a<code>b</code>c</b>", "abc", entities{{Type: "bold", Length: 1}, {Type: "code", Offset: 1, Length: 1}, {Type: "bold", Offset: 2, Length: 1}}},
		{"<b><i>ab</i></b>", "ab", entities{{Type: "bold", Length: 2}, {Type: "italic", Length: 2}}},
		{"<b>a<i>b</i></b>", "ab", entities{{Type: "bold", Length: 1}, {Type: "bold", Offset: 1, Length: 1}, {Type: "italic", Offset: 1, Length: 1}}},
		{`<a href="https://a.b/"><code>x</code></a>`, "x", entities{{Type: "code", Length: 1}}},
		{"<blockquote>a<blockquote>b</blockquote></blockquote>", "ab", entities{{Type: "blockquote", Length: 2}}},
		{"<blockquote>a<pre>b</pre></blockquote>", "ab", entities{{Type: "blockquote", Length: 2}, {Type: "pre", Offset: 1, Length: 1}}},
	} {
		text, got, err := telegramfake.ParseHTML(c.in)
		if err != nil || text != c.text {
			t.Errorf("ParseHTML(%q) = %q, %v; want %q", c.in, text, err, c.text)
		}
		if d := cmp.Diff(c.want, got); d != "" && len(c.want)+len(got) > 0 {
			t.Errorf("ParseHTML(%q) entities (-want +got):\n%s", c.in, d)
		}
	}
}

// TR-09: one wrong tag fails the whole text.
func TestParseHTMLRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"ab<think>x</think>":         `Unsupported start tag "think" at byte offset 2`,
		"a<br/>b":                    `Unsupported start tag "br/" at byte offset 1`,
		"1 < 2":                      `Unsupported start tag "" at byte offset 2`,
		"a<b":                        "Unclosed start tag at byte offset 1",
		"<b>a":                       `Can't find end tag corresponding to start tag "b"`,
		"é</b>":                      "Unexpected end tag at byte offset 2",
		"<b><i>x</b></i>":            `Unmatched end tag at byte offset 7, expected "</i>", found "</b>"`,
		"<b>x</b":                    "Unclosed end tag at byte offset 4",
		"<b>x</b x>":                 "Unclosed end tag at byte offset 4",
		"<span>x</span>":             `Tag "span" must have class "tg-spoiler" at byte offset 0`,
		"<a =x>y</a>":                `Empty attribute name in the tag "a" at byte offset 0`,
		`<a href="x>y</a>`:           "Unclosed start tag at byte offset 0",
		"<a href=x_y>y</a>":          "Unexpected end of name token at byte offset 8",
		"<a href":                    `Unclosed start tag "a" at byte offset 0`,
		"<tg-emoji>x</tg-emoji>":     "Invalid custom emoji identifier specified",
		"&#xD83D;":                   "Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units",
		"\xff":                       "Text must be encoded in UTF-8",
		"<100%d>":                    `Unsupported start tag "100%d" at byte offset 0`,
		"<blockquote a='1' /></b>":   `Empty attribute name in the tag "blockquote" at byte offset 0`,
		"<b>x</100%>":                `Unmatched end tag at byte offset 4, expected "</b>", found "</100%>"`,
		"<b\x00>x</b>":               "Unclosed start tag at byte offset 0",
		"<pre><code>x</pre></code>":  `Unmatched end tag at byte offset 12, expected "</code>", found "</pre>"`,
		"<code class=language-go>x<": "Unclosed start tag at byte offset 25",
	} {
		_, _, err := telegramfake.ParseHTML(in)
		var parse *telegramfake.ParseError
		if !errors.As(err, &parse) || err.Error() != want {
			t.Errorf("ParseHTML(%q) = %v; want %s", in, err, want)
		}
	}
}

func FuzzParseHTML(f *testing.F) {
	for _, seed := range []string{
		"a &amp; b", "<b>x<i>y</i></b>", `<a href="https://a.b">x</a>`, "<pre><code class=\"language-go\">x</code></pre>",
		"<blockquote expandable>a\n<b>b</b></blockquote>", "<", "&#", "&#x", "</", "<a b='", "<b>\x00</b>", "😀<u>é</u>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, list, err := telegramfake.ParseHTML(s)
		if err != nil {
			_ = err.Error()
			return
		}
		if !utf8.ValidString(text) {
			t.Fatalf("invalid UTF-8 in %q", text)
		}
		total := len(utf16s(text))
		for _, e := range list {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > total {
				t.Fatalf("%+v is outside of %q", e, text)
			}
		}
		again, none, err := telegramfake.ParseHTML(telegramfake.EscapeHTML(text))
		if err != nil || again != text || len(none) != 0 {
			t.Fatalf("escaped %q reads as %q, %v, %v", text, again, none, err)
		}
		if once := telegramfake.Normalise(text); telegramfake.Normalise(once) != once {
			t.Fatalf("Normalise is not idempotent on %q", text)
		}
	})
}

// TR-06.
func TestNormalise(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\x00c":            "a b c",
		"a\r\nb":               "a\nb",
		"a\u2028\u202eb":       "ab",
		" \n a \n":             "a",
		"a\u200f\u200eb":       "a\u200c\u200eb",
		"e\u0333x\u030a":       "ex",
		"keep\u00a0\u200dthis": "keep\u00a0\u200dthis",
	} {
		if got := telegramfake.Normalise(in); got != want {
			t.Errorf("Normalise(%q) = %q, want %q", in, got, want)
		}
	}
	if got := telegramfake.Normalise(strings.Repeat(" ", 9)); got != "" {
		t.Errorf("only spaces: %q", got)
	}
}
