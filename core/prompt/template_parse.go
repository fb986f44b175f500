package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// ParseTemplate parses a template that can only use the variables in vars. It fails with a [*SyntaxError]. The size and
// the depth of blocks are bounded, because templates come with character files of other authors.
func ParseTemplate(text string, vars Vars) (*Template, error) {
	p := &parser{text: text, vars: vars, uses: map[string]bool{}}
	if len(text) > maxTemplate {
		return nil, p.failf(0, "the template is longer than %d bytes", maxTemplate)
	}
	nodes, end, err := p.block(nil, 0)
	if err != nil {
		return nil, err
	}
	if end.word != "" {
		return nil, p.failf(end.at, "%s has no matching opening block", end)
	}
	return &Template{nodes: nodes, uses: p.uses}, nil
}

// parser reads a template from left to right. pos is behind the last tag that was read.
type parser struct {
	text string
	pos  int
	vars Vars
	uses map[string]bool
}

// tag is the content of braces.
type tag struct {
	at         int
	word, name string // "#if" and "agentName"; a variable has no word
}

func (t tag) String() string { return "{{" + strings.TrimSpace(t.word+" "+t.name) + "}}" }

// block reads up to the tag that ends it, which the caller checks: {{else}}, {{/...}}, or none at the end of the text.
// list is the list over whose items the block is repeated, if any. It fails with a [*SyntaxError].
func (p *parser) block(list []string, depth int) (nodes []node, end tag, err error) {
	for {
		text, t, err := p.next()
		if err != nil {
			return nil, tag{}, err
		}
		if text != "" {
			nodes = append(nodes, node{kind: literal, text: text})
		}
		switch {
		case t == nil:
			return nodes, tag{at: p.pos}, nil
		// A comment.
		case t.word == "!":
		case t.word == "else", strings.HasPrefix(t.word, "/"):
			return nodes, *t, nil
		case t.word == "":
			n, err := p.named(*t, list)
			if err != nil {
				return nil, tag{}, err
			}
			nodes = append(nodes, n)
		default:
			n, err := p.nested(*t, list, depth+1)
			if err != nil {
				return nil, tag{}, err
			}
			nodes = append(nodes, n)
		}
	}
}

// nested reads a block from its tag to its end. list has the fields that can be used inside; a list within another one
// is refused, because its fields would hide those of the outer one.
func (p *parser) nested(open tag, list []string, depth int) (n node, err error) {
	inside := list
	switch {
	case depth > maxDepth:
		return n, p.failf(open.at, "blocks are nested more than %d deep", maxDepth)
	case open.word == "#each":
		if list != nil {
			return n, p.failf(open.at, "a list can't be nested in another list")
		}
		// Only a declared list can be iterated over; its fields can be used inside.
		if inside = p.vars[open.name]; inside == nil {
			return n, p.unknown(open.at, "list", open.name, nil)
		}
		p.uses[open.name] = true
		n = node{kind: eachBlock, text: open.name}
	default:
		if n, err = p.condition(open, list); err != nil {
			return n, err
		}
	}
	var end tag
	if n.body, end, err = p.block(inside, depth); err != nil {
		return n, err
	}
	if end.word == "else" {
		if n.other, end, err = p.block(list, depth); err != nil {
			return n, err
		}
	}
	// The end must have the name of the beginning: {{/if}} can't end an {{#each}}.
	switch want := "/" + open.word[1:]; {
	case end.word == "":
		return n, p.failf(open.at, "%s has no end; add {{%s}}", open, want)
	case end.word != want:
		return n, p.failf(end.at, "found %s where {{%s}} is expected", end, want)
	}
	return n, nil
}

// condition reads the tag of an #if: a field of the item has precedence over a variable. It fails with a
// [*SyntaxError].
func (p *parser) condition(open tag, list []string) (node, error) {
	if slices.Contains(list, open.name) {
		return node{kind: ifField, text: open.name}, nil
	}
	if _, ok := p.vars[open.name]; !ok {
		return node{}, p.unknown(open.at, "variable", open.name, list)
	}
	p.uses[open.name] = true
	return node{kind: ifBlock, text: open.name}, nil
}

// named returns the node of a variable or of a field of the item, which has precedence. It fails with a [*SyntaxError].
func (p *parser) named(t tag, list []string) (node, error) {
	fields, ok := p.vars[t.name]
	switch {
	case slices.Contains(list, t.name):
		return node{kind: field, text: t.name}, nil
	case !ok:
		return node{}, p.unknown(t.at, "variable", t.name, list)
	case fields != nil:
		return node{}, p.failf(t.at, "%s is a list; write {{#each %s}} and {{/each}}", t.name, t.name)
	}
	p.uses[t.name] = true
	return node{kind: variable, text: t.name}, nil
}

// unknown returns the error for a name that was not declared. It lists those that were, since most errors are typos.
func (p *parser) unknown(at int, what, name string, list []string) error {
	known := slices.Clone(list)
	for _, v := range slices.Sorted(maps.Keys(p.vars)) {
		if what != "list" || p.vars[v] != nil {
			known = append(known, v)
		}
	}
	return p.failf(at, "there is no %s %q; there are %s", what, name, strings.Join(known, ", "))
}

// next returns the text up to the next tag, and that tag; nil at the end. It fails with a [*SyntaxError].
func (p *parser) next() (text string, t *tag, err error) {
	var b strings.Builder
	for {
		i := strings.Index(p.text[p.pos:], "{{")
		switch {
		case i < 0:
			b.WriteString(p.text[p.pos:])
			p.pos = len(p.text)
			return b.String(), nil, nil
		case i > 0 && p.text[p.pos+i-1] == '\\':
			b.WriteString(p.text[p.pos:p.pos+i-1] + "{{")
			p.pos += i + 2
			continue
		}
		b.WriteString(p.text[p.pos : p.pos+i])
		at := p.pos + i
		if t, err = p.tag(at); err != nil {
			return "", nil, err
		}
		text = b.String()
		// The line of a block tag vanishes with it: the indent before and the line break after.
		if t.word != "" && p.onOwnLine(at) {
			text = strings.TrimRight(text, " \t")
			p.pos += strings.IndexByte(p.text[p.pos:]+"\n", '\n') + 1
			p.pos = min(p.pos, len(p.text))
		}
		return text, t, nil
	}
}

// onOwnLine reports whether the line contains only the tag from at to the parser's position.
func (p *parser) onOwnLine(at int) bool {
	before := p.text[:at]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ := strings.Cut(p.text[p.pos:], "\n")
	return strings.TrimSpace(before) == "" && strings.TrimSpace(after) == ""
}

// tag reads the tag at a position, and moves the parser behind it. Comments with dashes may contain braces, so they
// have an end of their own. It fails with a [*SyntaxError].
func (p *parser) tag(at int) (*tag, error) {
	open, end := "{{", "}}"
	switch rest := p.text[at:]; {
	case strings.HasPrefix(rest, "{{!--"):
		end = "--}}"
	case strings.HasPrefix(rest, "{{{"):
		open, end = "{{{", "}}}"
	}
	inside, _, ok := strings.Cut(p.text[at+len(open):], end)
	if !ok {
		return nil, p.failf(at, "%s is not closed; add %s, or write \\{{ for plain braces", open, end)
	}
	p.pos = at + len(open) + len(inside) + len(end)
	return p.read(at, strings.TrimSpace(inside), len(open) == 3)
}

// read interprets the content of braces. Three braces can only contain a variable. It fails with a [*SyntaxError].
func (p *parser) read(at int, inside string, raw bool) (*tag, error) {
	words := strings.Fields(inside)
	block := strings.HasPrefix(inside, "#")
	switch {
	case strings.HasPrefix(inside, "!") && !raw:
		return &tag{at: at, word: "!"}, nil
	case len(words) == 1 && isName(words[0]) && (raw || words[0] != "else"):
		return &tag{at: at, name: strings.TrimPrefix(words[0], "this.")}, nil
	case raw:
	case len(words) == 1 && (inside == "else" || inside == "/if" || inside == "/each"):
		return &tag{at: at, word: inside}, nil
	case len(words) == 2 && (words[0] == "#if" || words[0] == "#each") && isName(words[1]):
		return &tag{at: at, word: words[0], name: strings.TrimPrefix(words[1], "this.")}, nil
	case block && words[0] != "#if" && words[0] != "#each":
		return nil, p.failf(at, "%s is not known; there are #if and #each", clip(words[0]))
	}
	return nil, p.failf(at, "{{%s}} is not understood", clip(inside))
}

// isName reports whether s is a name; "this." before it is allowed.
func isName(s string) bool {
	s = strings.TrimPrefix(s, "this.")
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// clip keeps an error short.
func clip(s string) string {
	if runes := []rune(s); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return s
}

// failf returns an error with the position of a byte.
func (p *parser) failf(at int, format string, args ...any) error {
	before := p.text[:at]
	return &SyntaxError{
		Line:    strings.Count(before, "\n") + 1,
		Column:  utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
		Message: fmt.Sprintf(format, args...),
	}
}
