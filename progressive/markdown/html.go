package markdown

import (
	"net/url"
	"strings"
)

// HTMLOptions are what differs between platforms that read a little HTML.
type HTMLOptions struct {
	Spoiler string // the tag for what is hidden at first; if it is empty, that is shown
	// Mentions is for platforms that notify people named as @name: it reports whether that one may be. All others are
	// shown and have no effect. Nil if names have none there anyway.
	Mentions func(name string) bool
}

// HTML is a subset of HTML: b i s a code blockquote, and pre with code class="language-…". Pre and code hold nothing
// and stand in no link, quotes do not nest, and of four characters references are made (TR-09). Length counts what is
// read, in UTF-16 units (TR-04).
func HTML(o HTMLOptions) Dialect {
	d := Plain()
	d.Mark = func(m Mark) (Markup, bool) { return o.mark(m) }
	d.Escape = func(text string, i, end int, _ Place) string { return reference(text[i:end]) }
	d.Links = linkable
	if o.Mentions != nil {
		d.Guard = func(words string) string { return breakMentions(words, o.Mentions) }
	}
	d.Holds = func(outer, inner Kind) bool {
		return outer != Anchor || inner <= Spoiler
	}
	d.Heading = func(int) (string, []Kind) { return "", []Kind{Strong} }
	d.Tab = "    " // servers make one space of a tab (TR-06)
	d.Read, d.Counts = true, true
	return d
}

func (o HTMLOptions) mark(m Mark) (Markup, bool) {
	switch m.Kind {
	case Strong:
		return tag("b"), true
	case Emphasis:
		return tag("i"), true
	case Strike:
		return tag("s"), true
	case Spoiler:
		return tag(o.Spoiler), o.Spoiler != ""
	case CodeSpan:
		return tag("code"), true
	case QuoteBlock:
		return tag("blockquote"), true
	case Anchor:
		return Markup{`<a href="` + references.Replace(m.URL) + `">`, "</a>"}, true
	case CodeBlock:
		if name := languageOf(m.Info); name != "" {
			return Markup{`<pre><code class="language-` + name + `">`, "</code></pre>"}, true
		}
		return tag("pre"), true
	}
	return Markup{}, false
}

func tag(name string) Markup { return Markup{"<" + name + ">", "</" + name + ">"} }

var references = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func reference(c string) string {
	switch c {
	case "&":
		return "&amp;"
	case "<":
		return "&lt;"
	case ">":
		return "&gt;"
	case `"`:
		return "&quot;"
	}
	return c
}

// linkable reports whether servers make a link of an address behind words: they want a name with a dot. Addresses of a
// platform's own, which may name people, are shown.
func linkable(to string) bool {
	u, err := url.Parse(to)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && safe(to) && strings.ContainsAny(u.Hostname(), ".:")
}

// languageOf is the language that the first line of a block of code names; empty if it is none.
func languageOf(info string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	if len(name) > 32 {
		return ""
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+#._-", c) >= 0) {
			return ""
		}
	}
	return name
}
