package markdown

import "strings"

const (
	mostLabel = 200  // bytes of words that are kept together in a link
	mostURL   = 2000 // bytes of an address behind words
)

// link lays a link out: its words with the address behind them; or its address alone, if it has no other words; or its
// words and then its address, if users must see the address or the platform accepts no such link.
func (f *flow) link(l Link) {
	label := strings.TrimSpace(flat(l.Text, false))
	url := l.URL
	switch {
	case l.Bare:
		f.bare(label)
	case f.frame.has(Anchor):
		f.inlines(l.Text)
	case label == "" || sameAddress(label, url):
		f.bare(strings.TrimPrefix(url, "mailto:"))
	case url == "":
		f.inlines(l.Text)
	case !f.behind(label, url):
		f.inlines(l.Text)
		f.words(" (", Place{})
		f.bare(strings.TrimPrefix(url, "mailto:"))
		f.words(")", Place{})
	default:
		from := len(f.atoms)
		f.in(Mark{Kind: Anchor, URL: url}, func() { f.inlines(l.Text) })
		f.together(from, len(label))
	}
}

// behind reports whether url may be hidden behind label: not if label looks like another address, nor if the address
// would take a large part of a message.
func (f *flow) behind(label, url string) bool {
	if len(url) > mostURL || deceives(label, url) || !f.d.Links(url) {
		return false
	}
	if f.frame.code() || !f.may(Anchor) {
		return false
	}
	w, ok := f.d.Mark(Mark{Kind: Anchor, URL: url})
	if !ok {
		return false
	}
	c := f.d.measure(w.Open+w.Shut, "")
	return (f.l.Length == 0 || c.length <= f.l.Length/4) && (f.l.Raw == 0 || c.raw <= f.l.Raw/8)
}

// bare lays an address out as it is, for clients to find and make a link of; as words if clients would not recognize
// it. Such a link counts as an entity too.
func (f *flow) bare(url string) {
	from := len(f.atoms)
	f.words(url, Place{Bare: !strings.ContainsAny(url, "`\\<> \t\n")})
	if f.d.Counts && len(f.atoms) > from {
		f.atoms[from].cost.entities += 1 + 2*f.frame.cut()
	}
	f.together(from, len(url))
}

// together forbids the end of a part between the atoms from on, if they are short: half of an address leads elsewhere.
func (f *flow) together(from, size int) {
	if size > mostLabel {
		return
	}
	for i := from + 1; i < len(f.atoms); i++ {
		if f.atoms[i].lines == 0 {
			f.atoms[i].cut = never
		}
	}
}

// flat returns the visible text of inlines, with the addresses that are behind words or without.
func flat(in []Inline, addresses bool) string {
	var b strings.Builder
	for _, i := range in {
		switch i := i.(type) {
		case Text:
			b.WriteString(string(i))
		case Break:
			b.WriteByte(' ')
		case Span:
			b.WriteString(string(i))
		case Styled:
			b.WriteString(flat(i.Text, addresses))
		case Link:
			label := flat(i.Text, addresses)
			b.WriteString(label)
			if addresses && !i.Bare && i.URL != "" && !sameAddress(label, i.URL) {
				b.WriteString(" (" + i.URL + ")")
			}
		}
	}
	return b.String()
}

// sameAddress reports whether label is the address itself, in one of the usual spellings.
func sameAddress(label, url string) bool {
	return label == url || strings.TrimSuffix(url, "/") == strings.TrimSuffix(label, "/") || "mailto:"+label == url ||
		host(label) != "" && strings.TrimSuffix(withoutScheme(url), "/") == strings.TrimSuffix(label, "/")
}

func withoutScheme(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		return rest
	}
	return url
}

// deceives reports whether label looks like another address than url: a model may have been told to write
// [your-bank.com](https://elsewhere.example).
func deceives(label, url string) bool {
	target := host(url)
	for _, w := range strings.Fields(label) {
		named := host(strings.Trim(w, "\"'()<>,.;:!?"))
		if named != "" && named != target && !strings.HasSuffix(target, "."+named) {
			return true
		}
	}
	return false
}

// host returns the host in an address, without www; empty if s is not an address, such as the name of a file.
func host(s string) string {
	s = strings.ToLower(s)
	rest, sure := s, false
	if scheme, after, ok := strings.Cut(s, "://"); ok && scheme != "" {
		rest, sure = after, true
	}
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && !strings.HasSuffix(rest, "]") {
		rest = rest[:i]
	}
	if name, ok := strings.CutPrefix(rest, "www."); ok {
		rest, sure = name, true
	}
	dot := strings.LastIndexByte(rest, '.')
	if rest == "" || !sure && (dot <= 0 || !topLevel(rest[dot+1:])) {
		return ""
	}
	return strings.TrimSuffix(rest, ".")
}

// topLevel reports whether a name that ends so is probably an address rather than a file. The list has common ends
// only: "main.go" must stay a file.
func topLevel(end string) bool {
	switch end {
	case "com", "org", "net", "io", "dev", "app", "gov", "edu", "mil", "info", "biz", "xyz", "online", "site", "shop",
		"bank", "cloud", "ai", "co", "uk", "de", "fr", "ru", "cn", "jp", "br", "in", "it", "nl", "eu", "us", "ch", "at",
		"se", "no", "es", "kr", "tv", "gg":
		return true
	}
	return false
}
