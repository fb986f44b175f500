package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	maxTemplate = 64 << 10 // bytes of a template
	maxDepth    = 16       // blocks in one another
)

// Vars declares the variables of a template. Nil is a text; anything else is a list, with the fields of its items. The
// field "this" is an item that is itself a text.
type Vars map[string][]string

// Values are the values of a template's variables. Missing ones are empty.
type Values struct {
	Texts map[string]string
	Lists map[string][]Item
}

// Item is one item of a list, by field.
type Item map[string]string

// Template is a parsed text template. It is immutable, so it is safe for concurrent use. It supports the part of Handlebars
// that prompts need: {{name}}, {{{name}}} (the same), {{#if name}} {{else}} {{/if}}, {{#each list}} {{this}} {{field}} {{else}}
// {{/each}}, and comments, {{! so }}. Values are not escaped. A block tag on a line of its own leaves no empty line behind, and
// \{{ is a literal {{.
//
// It is not text/template because character files are written by authors who know Handlebars, and because a template is checked
// completely when it is parsed: with the variables declared, Execute can't fail, so an error shows when the configuration is
// read and not in the middle of a conversation.
type Template struct {
	nodes []node
	uses  map[string]bool
}

// SyntaxError is a syntax error with its position: both count from 1, columns in characters.
type SyntaxError struct {
	Line, Column int
	Message      string
}

// Error returns the position and the message.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Uses reports whether the template uses a variable, in any branch. Unused variables need not be computed.
func (t *Template) Uses(name string) bool { return t.uses[name] }

// With returns a template that renders to the output of t, followed by the output of more.
func (t *Template) With(more *Template) *Template {
	uses := maps.Clone(t.uses)
	maps.Copy(uses, more.uses)
	return &Template{nodes: slices.Concat(t.nodes, more.nodes), uses: uses}
}

// Execute renders the template. Values are inserted as they are: a value that contains braces is not parsed again.
func (t *Template) Execute(v Values) string {
	var b strings.Builder
	render(&b, t.nodes, v, nil)
	return b.String()
}

// nodeKind is the kind of a node.
type nodeKind uint8

const (
	literal nodeKind = iota
	variable
	field
	ifBlock   // a variable
	ifField   // a field of the item
	eachBlock // a list
)

// node is a part of a template.
type node struct {
	kind  nodeKind
	text  string // of a literal; else the name
	body  []node
	other []node // after {{else}}
}

// render appends the output of nodes. item is that of the enclosing list, nil outside of one.
func render(b *strings.Builder, nodes []node, v Values, item Item) {
	for _, n := range nodes {
		switch n.kind {
		case literal:
			b.WriteString(n.text)
		case variable:
			b.WriteString(v.Texts[n.text])
		case field:
			b.WriteString(item[n.text])
		case eachBlock:
			for _, item := range v.Lists[n.text] {
				render(b, n.body, v, item)
			}
			if len(v.Lists[n.text]) == 0 {
				render(b, n.other, v, nil)
			}
		default:
			branch := n.other
			if n.holds(v, item) {
				branch = n.body
			}
			render(b, branch, v, item)
		}
	}
}

// holds reports whether a condition is true: whether there is a text of more than spaces, or a list with items.
func (n node) holds(v Values, item Item) bool {
	if n.kind == ifField {
		return strings.TrimSpace(item[n.text]) != ""
	}
	return len(v.Lists[n.text]) > 0 || strings.TrimSpace(v.Texts[n.text]) != ""
}
