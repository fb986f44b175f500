package telegramfake

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseError is a text that HTML mode refuses.
type ParseError struct {
	Offset int    // in bytes, of the tag; -1 if the server names none
	Reason string // what follows "can't parse entities: " on the wire
}

// Error is the reason, in the server's words.
func (e *ParseError) Error() string { return e.Reason }

// wrongAt is an error at a byte offset, which format mentions last.
func wrongAt(offset int, format string, args ...any) *ParseError {
	return &ParseError{Offset: offset, Reason: fmt.Sprintf(format+" at byte offset %d", append(args, offset)...)}
}

// ParseHTML reads a text as the server does in HTML mode (TR-09) and returns what is shown, neither normalized nor
// trimmed, and its entities: outer before inner, offsets in UTF-16 units, made fit for display (code and pre hold
// nothing, quotes are not nested, links that lead nowhere are gone). It is pure. The error is a *ParseError.
func ParseHTML(s string) (text string, entities []Entity, err error) {
	text, entities, _, err = parseHTML(s)
	return text, entities, err
}

func parseHTML(s string) (text string, entities []Entity, lost int, err error) {
	if !utf8.ValidString(s) {
		return "", nil, 0, &ParseError{-1, "Text must be encoded in UTF-8"}
	}
	p := parser{in: s}
	if err := p.parse(); err != nil {
		return "", nil, 0, err
	}
	for i := range p.entities {
		if p.entities[i].Type == "code" {
			p.entities[i].Language = "" // it was for a pre around it
		}
	}
	fixed, dropped := fixEntities(p.entities)
	return p.out.String(), fixed, p.lost + dropped, nil
}

// EscapeHTML writes text so that HTML mode shows it as it is.
func EscapeHTML(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}

// parser goes once over in; the stack holds the open tags.
type parser struct {
	in       string
	at       int
	out      strings.Builder
	units    int // UTF-16 length of out
	open     []tag
	entities []Entity
	lost     int
}

type tag struct {
	name     string
	argument string // href, language, class, emoji id, time format
	unix     int64
	start    int // in units
	from     int // in bytes of out
}

// peek is the byte at i, 0 after the end: a NUL in the text ends tags too.
func (p *parser) peek(i int) byte {
	if i < len(p.in) {
		return p.in[i]
	}
	return 0
}

func (p *parser) parse() error {
	for p.at < len(p.in) {
		if p.in[p.at] == '<' {
			if err := p.tag(); err != nil {
				return err
			}
			continue
		}
		r, size := p.char(p.at)
		if r >= 0xd800 && r <= 0xdfff {
			return &ParseError{-1, "Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units"}
		}
		p.at += size
		p.out.WriteRune(r)
		p.units++
		if r > 0xffff {
			p.units++
		}
	}
	if n := len(p.open); n > 0 {
		return &ParseError{-1, `Can't find end tag corresponding to start tag "` + p.open[n-1].name + `"`}
	}
	return nil
}

// char reads one character or one character reference.
func (p *parser) char(i int) (rune, int) {
	if p.in[i] == '&' {
		if r, size := reference(p.in[i:]); size > 0 {
			return r, size
		}
	}
	return utf8.DecodeRuneInString(p.in[i:])
}

func (p *parser) tag() error {
	begin := p.at
	if p.peek(begin+1) == '/' {
		return p.endTag(begin)
	}
	p.at++
	name := strings.ToLower(p.until(func(c byte) bool { return space(c) || c == '>' }))
	if p.peek(p.at) == 0 {
		return wrongAt(begin, "Unclosed start tag")
	}
	if !allowedTag(name) {
		return wrongAt(begin, "Unsupported start tag \"%s\"", name)
	}
	t := tag{name: name, start: p.units, from: p.out.Len()}
	for p.peek(p.at) != '>' {
		if err := p.attribute(&t, begin); err != nil {
			return err
		}
	}
	p.at++
	if name == "span" && t.argument != "spoiler" {
		return wrongAt(begin, `Tag "span" must have class "tg-spoiler"`)
	}
	p.open = append(p.open, t)
	return nil
}

func allowedTag(name string) bool {
	switch name {
	case "a", "b", "strong", "i", "em", "s", "strike", "del", "u", "ins", "tg-spoiler", "tg-emoji", "tg-time", "span",
		"pre", "code", "blockquote":
		return true
	}
	return false
}

// attribute reads one name="value", name='value', name=token or bare name, or the spaces before the tag's end.
func (p *parser) attribute(t *tag, begin int) error {
	p.spaces()
	if p.peek(p.at) == '>' {
		return nil
	}
	unclosed := wrongAt(begin, `Unclosed start tag "%s"`, t.name)
	name := p.until(func(c byte) bool { return space(c) || strings.IndexByte(`=>/"'`, c) >= 0 })
	if name == "" {
		return wrongAt(begin, `Empty attribute name in the tag "%s"`, t.name)
	}
	p.spaces()
	switch p.peek(p.at) {
	case 0:
		return unclosed
	case '=':
	default: // no value
		t.set(name, "")
		return nil
	}
	p.at++
	p.spaces()
	var value string
	switch c := p.peek(p.at); c {
	case 0:
		return unclosed
	case '"', '\'':
		value = p.quoted(c)
	default:
		from := p.at
		value = strings.ToLower(p.until(func(c byte) bool { return !letter(c) && !digit(c) && c != '.' && c != '-' }))
		if c := p.peek(p.at); !space(c) && c != '>' {
			return wrongAt(from, "Unexpected end of name token")
		}
	}
	if p.peek(p.at) == 0 {
		return wrongAt(begin, "Unclosed start tag")
	}
	t.set(name, value)
	return nil
}

// quoted reads a value up to the closing quote, or to the end of the text.
func (p *parser) quoted(quote byte) string {
	var b strings.Builder
	for p.at++; p.peek(p.at) != quote && p.peek(p.at) != 0; {
		r, size := p.char(p.at)
		b.WriteRune(r)
		p.at += size
	}
	if p.peek(p.at) == quote {
		p.at++
	}
	return b.String()
}

func (t *tag) set(name, value string) {
	switch t.name + " " + name {
	case "a href", "tg-emoji emoji-id", "tg-time format":
		t.argument = value
	case "code class":
		if lang, ok := strings.CutPrefix(value, "language-"); ok {
			t.argument = lang
		}
	case "span class":
		if class, ok := strings.CutPrefix(value, "tg-"); ok {
			t.argument = class
		}
	case "blockquote expandable":
		t.argument = "1"
	case "tg-time unix":
		t.unix, _ = strconv.ParseInt(value, 10, 32) // a wrong one is 0: no time
	}
}

func (p *parser) endTag(begin int) error {
	if len(p.open) == 0 {
		return wrongAt(begin, "Unexpected end tag")
	}
	p.at += 2
	name := strings.ToLower(p.until(func(c byte) bool { return space(c) || c == '>' }))
	p.spaces()
	if p.peek(p.at) != '>' {
		return wrongAt(begin, "Unclosed end tag")
	}
	p.at++
	t := p.open[len(p.open)-1]
	if name != "" && name != t.name {
		wrong := wrongAt(begin, "Unmatched end tag")
		wrong.Reason += fmt.Sprintf(`, expected "</%s>", found "</%s>"`, t.name, name)
		return wrong
	}
	p.open = p.open[:len(p.open)-1]
	if p.units == t.start {
		return nil
	}
	e, shown, err := p.entity(t)
	switch {
	case err != nil:
		return err
	case shown:
		p.add(e)
	default:
		p.lost++
	}
	return nil
}

// add appends e; a pre and a code of the same extent, one with a language, are one.
func (p *parser) add(e Entity) {
	if n := len(p.entities); n > 0 && isCode(e) {
		last := &p.entities[n-1]
		language := last.Language
		if last.Type == "pre" && last.Language == "" {
			language = e.Language
		}
		same := isCode(*last) && last.Type != e.Type && last.Offset == e.Offset && last.Length == e.Length
		if same && language != "" && (last.Type == "code" || last.Language == "") {
			last.Type, last.Language = "pre", language
			return
		}
	}
	p.entities = append(p.entities, e)
}
