package markdown

import (
	"net/url"
	"strings"
)

// HTMLOptions are what differs between platforms that read a little HTML.
type HTMLOptions struct {
	Spoiler string // the tag for text that is hidden at first; if it is empty, that text is shown
	// Mentions is for platforms that notify users named as @name: it reports whether the user can be notified. All
	// other names are shown and have no effect. Nil if names have none there anyway.
	Mentions func(name string) bool
}

// HTML is a subset of HTML: b i s a code blockquote, and pre with code class="language-…". A long quote has the attribute
// expandable: its beginning is shown, and the rest on request. Pre and code contain no other tags and are in no link, quotes do not nest, and four characters are written as references. Length counts the
// visible text, in UTF-16 units. Those are the rules of Telegram's Bot API ("HTML style").
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
	d.Tab = "    " // servers make one space of a tab
	d.Read, d.Counts = true, true
	return d
}

// mark returns the tags of m.
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
		if m.Long {
			return Markup{"<blockquote expandable>", "</blockquote>"}, true
		}
		return tag("blockquote"), true
	case Anchor:
		return Markup{`<a href="` + references.Replace(m.URL) + `">`, "</a>"}, true
	case CodeBlock:
		if name := LanguageOf(m.Info); name != "" {
			return Markup{`<pre><code class="language-` + name + `">`, "</code></pre>"}, true
		}
		return tag("pre"), true
	}
	return Markup{}, false
}

// tag returns an element without attributes.
func tag(name string) Markup { return Markup{"<" + name + ">", "</" + name + ">"} }

var references = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// reference returns c as it is written in HTML.
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

// linkable reports whether servers make a link of an address behind words: they require a name with a dot. Addresses of
// a platform's own scheme, which may notify users, are shown instead.
func linkable(to string) bool {
	u, err := url.Parse(to)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && safe(to) && strings.ContainsAny(u.Hostname(), ".:")
}

// LanguageOf returns the language that the first line of a block of code names; empty if it is no plain name: it is
// written into an attribute.
func LanguageOf(info string) string {
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
