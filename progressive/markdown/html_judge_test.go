package markdown_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/progressive/markdown"
)

const spoilerTag = "x-spoiler"

// element is a tag that was open over text[from:to], in UTF-16 units.
type element struct {
	name     string
	from, to int
}

func (e element) style() bool { return slices.Contains([]string{"b", "i", "s", spoilerTag}, e.name) }

// readHTML reads the subset as strictly as servers do (TR-09): the tags that exist, each closed in its turn, quotes not
// nested, nothing within code but the code of a pre; four references; no other < > & ".
func readHTML(s string) (text string, all []element, err error) {
	var b strings.Builder
	var open []element
	for s != "" {
		switch {
		case s[0] == '<':
			end := strings.IndexByte(s, '>')
			if end < 0 {
				return "", nil, fmt.Errorf("unclosed tag %q", s)
			}
			if open, all, err = readTag(s[1:end], markdown.UTF16(b.String()), open, all); err != nil {
				return "", nil, err
			}
			s = s[end+1:]
		case s[0] == '&':
			i := slices.IndexFunc([]string{"&amp;", "&lt;", "&gt;", "&quot;"}, func(r string) bool { return strings.HasPrefix(s, r) })
			if i < 0 {
				return "", nil, fmt.Errorf("reference %q", s)
			}
			b.WriteByte(`&<>"`[i])
			s = s[strings.IndexByte(s, ';')+1:]
		case s[0] == '>' || s[0] == '"':
			return "", nil, fmt.Errorf("bare %q", s)
		default:
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	if len(open) > 0 {
		return "", nil, fmt.Errorf("open %v", open)
	}
	return b.String(), all, nil
}

func readTag(tag string, at int, open, all []element) (_, _ []element, err error) {
	if name, ok := strings.CutPrefix(tag, "/"); ok {
		if len(open) == 0 || open[len(open)-1].name != name {
			return nil, nil, fmt.Errorf("</%s> in %v", name, open)
		}
		e := open[len(open)-1]
		e.to = at
		if e.to == e.from {
			return nil, nil, fmt.Errorf("empty %s", name)
		}
		return open[:len(open)-1], append(all, e), nil
	}
	name, attribute, _ := strings.Cut(tag, " ")
	switch {
	case !slices.Contains([]string{"b", "i", "s", "a", "code", "pre", "blockquote", spoilerTag}, name):
		return nil, nil, fmt.Errorf("unknown <%s>", tag)
	case attribute != "" && tag != "blockquote expandable" && !strings.HasPrefix(attribute, `href="`) && !strings.HasPrefix(attribute, `class="language-`),
		strings.Count(attribute, `"`)%2 != 0, name == "a" && attribute == "":
		return nil, nil, fmt.Errorf("wrong <%s>", tag)
	}
	for _, o := range open {
		if o.name == name || o.name == "code" || o.name == "pre" && (name != "code" || attribute == "") || o.name == "a" && name == "code" {
			return nil, nil, fmt.Errorf("<%s> within %s", tag, o.name)
		}
	}
	return append(open, element{name: name, from: at}), all, nil
}

// entities counts what elements become: a style is cut where another element begins or ends in it.
func entities(all []element) (n int) {
	for _, e := range all {
		if e.name == "code" && slices.ContainsFunc(all, func(o element) bool { return o.name == "pre" && o.from == e.from && o.to == e.to }) {
			continue // one with its pre
		}
		n++
		if !e.style() {
			continue
		}
		var edges []int
		for _, o := range all {
			for _, at := range []int{o.from, o.to} {
				if at > e.from && at < e.to && !slices.Contains(edges, at) {
					edges = append(edges, at)
				}
			}
		}
		n += len(edges)
	}
	return n
}

func judgeHTML(t testing.TB, p markdown.Rendered, l markdown.Limits) {
	t.Helper()
	text, all, err := readHTML(p.Text)
	if err != nil {
		t.Fatalf("%v in %q", err, p.Text)
	}
	if text != p.Plain {
		t.Fatalf("%q reads as %q, not %q", p.Text, text, p.Plain)
	}
	if n := markdown.UTF16(text); l.Length > 0 && n > l.Length {
		t.Fatalf("length %d of %d: %q", n, l.Length, text)
	}
	if n := entities(all); l.Entities > 0 && n > l.Entities {
		t.Fatalf("%d entities of %d: %q", n, l.Entities, p.Text)
	}
	if n := len(p.Text); l.Raw > 0 && n > l.Raw {
		t.Fatalf("%d bytes of %d", n, l.Raw)
	}
}
