package config

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// kind is the kind of a node.
type kind int

const (
	absent  kind = iota // not in the file: the text, if any, is the key's default
	nothing             // null, or a key without a value
	boolean
	number
	text
	section
	list
	strange // a YAML feature that configurations do not use
)

func (k kind) String() string {
	return [...]string{"missing", "empty", "true or false", "a number", "text", "a section", "a list", "not plain YAML"}[k]
}

// node is a value of the file with its position. The decoder works on nodes, not on the types of the YAML library, so
// that character files in JSON are read in the same way.
type node struct {
	kind         kind
	text         string // a scalar, unquoted and unescaped
	file         string // its file, if not the configuration itself
	line, column int
	fields       []field
	items        []*node
}

// field is a key of a section. The node of its value has the position of the value if that is a scalar, otherwise of
// the key, where a reader looks for it.
type field struct {
	key          string
	line, column int
	value        *node
}

// readYAML returns the single document of data. An empty file is an empty section. Duplicate keys are let through, to
// be reported with both lines.
func readYAML(data []byte) (*node, *Problem) {
	if !utf8.Valid(data) {
		return nil, &Problem{Message: "the file is not UTF-8 text", Hint: "save it as UTF-8"}
	}
	file, err := parser.ParseBytes([]byte(strings.TrimPrefix(string(data), "\ufeff")), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxProblem(err)
	}
	root := &node{kind: section, line: 1, column: 1}
	for i, document := range file.Docs {
		if i > 0 && document.Body != nil {
			return nil, placed(document.Body.GetToken(), "a second YAML document begins", "keep one document per file")
		}
		if body := document.Body; body != nil && body.Type() != ast.NullType && body.Type() != ast.CommentType {
			root = convert(body)
		}
	}
	return root, nil
}

// syntaxProblem describes an error of the YAML library. Tabs get a message of their own, as they are invisible.
func syntaxProblem(err error) *Problem {
	var syntax yaml.Error
	if !errors.As(err, &syntax) {
		return &Problem{Message: "the file is not valid YAML", Hint: "check its indentation and quotes"}
	}
	if strings.Contains(syntax.GetMessage(), "character '\t'") {
		return placed(syntax.GetToken(), "a tab is used where YAML allows only spaces", "indent with spaces")
	}
	return placed(syntax.GetToken(), "not valid YAML: "+syntax.GetMessage(), "check the indentation and the quotes around here")
}

// placed returns a problem at the position of a token.
func placed(at *token.Token, message, hint string) *Problem {
	line, column := place(at)
	return &Problem{Line: line, Column: column, Message: message, Hint: hint}
}

// place returns the position of a token, which can be missing.
func place(at *token.Token) (line, column int) {
	if at == nil || at.Position == nil {
		return 1, 1
	}
	return at.Position.Line, at.Position.Column
}

// convert returns a node for a node of the library.
func convert(from ast.Node) *node {
	n := &node{}
	n.line, n.column = place(from.GetToken())
	switch from := from.(type) {
	case *ast.NullNode:
		n.kind = nothing
	case *ast.BoolNode:
		n.kind, n.text = boolean, from.Token.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.kind, n.text = number, from.GetToken().Value
	case *ast.StringNode:
		n.kind, n.text = text, from.Value
	case *ast.LiteralNode:
		n.kind, n.text = text, from.Value.Value
	case *ast.SequenceNode:
		n.kind = list
		for _, item := range from.Values {
			n.items = append(n.items, convert(item))
		}
	case *ast.MappingValueNode:
		n.section(from)
	case *ast.MappingNode:
		n.section(from.Values...)
	default:
		n.kind, n.text = strange, extra(from)
	}
	return n
}

// extra names the feature that makes a node strange.
func extra(from ast.Node) string {
	switch from.Type() {
	case ast.AnchorType:
		return "an anchor (&)"
	case ast.AliasType:
		return "an alias (*)"
	case ast.TagType:
		return "a tag (!)"
	case ast.MergeKeyType:
		return "a merge (<<)"
	}
	return "special YAML (" + from.Type().String() + ")"
}

// section makes n a section with the given entries.
func (n *node) section(entries ...*ast.MappingValueNode) {
	n.kind = section
	for _, entry := range entries {
		f := field{value: convert(entry.Value)}
		f.line, f.column = place(entry.Key.GetToken())
		if key, ok := entry.Key.(ast.ScalarNode); ok && !entry.Key.IsMergeKey() {
			f.key = key.GetToken().Value
		} else {
			f.value = &node{kind: strange, text: extra(entry.Key)}
		}
		if v := f.value; v.kind == section || v.kind == list || v.kind == nothing || v.kind == strange {
			v.line, v.column = f.line, f.column
		}
		n.fields = append(n.fields, f)
	}
	if len(n.fields) > 0 {
		n.line, n.column = n.fields[0].line, n.fields[0].column
	}
}
