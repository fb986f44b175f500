package config

import (
	"fmt"
	"strings"
)

// examples reads example conversations in all supported forms: lists of messages, or sections with such a list under
// examples or messages.
func (f *characterFile) examples(n *node) *node {
	for i, c := range n.items {
		messages := c
		for _, e := range c.fields {
			if e.key == "examples" || e.key == "messages" {
				messages = e.value
			}
		}
		for j, m := range messages.items {
			messages.items[j] = f.example(m)
		}
		n.items[i] = &node{kind: section, line: c.line, column: c.column, fields: []field{
			{key: "messages", line: c.line, column: c.column, value: messages},
		}}
	}
	return n
}

// example reads a message, whose text and actions can be under content.
func (f *characterFile) example(m *node) *node {
	out := &node{kind: m.kind, text: m.text, line: m.line, column: m.column}
	for _, e := range m.fields {
		inner := []field{e}
		if e.key == "content" && e.value.kind == section {
			inner = e.value.fields
		} else if e.key == "content" || e.key == "user" {
			inner[0].key = map[string]string{"content": "text", "user": "name"}[e.key]
		}
		for _, e := range inner {
			switch {
			case e.value.kind == nothing:
			case e.key == "name", e.key == "text":
				e.value.text = f.fixNames(e.value.text)
				out.fields = append(out.fields, e)
			case e.key == "actions" && e.value.kind == list:
				out.fields = append(out.fields, e)
			}
		}
	}
	return out
}

// fixNames replaces name placeholders with fixed names, so that prompts stay the same.
func (f *characterFile) fixNames(said string) string {
	names := []string{"Ann", "Ben", "Cleo", "Dan", "Eve"}
	var pairs []string
	for i, name := range names {
		pairs = append(pairs, fmt.Sprintf("{{name%d}}", i+1), name, fmt.Sprintf("{{user%d}}", i+1), name)
	}
	return f.plain(&node{kind: text, text: strings.NewReplacer(pairs...).Replace(said)}).text
}

// knowledge reads a list of texts and file paths in all supported forms.
func (f *characterFile) knowledge(n *node) *node {
	for i, item := range n.items {
		if item.kind != section {
			continue
		}
		for _, e := range item.fields {
			if inner := e.value; e.key == "item" && inner.kind == section && len(inner.fields) > 0 {
				e = inner.fields[0]
				if e.key == "case" && len(inner.fields) > 1 {
					e = inner.fields[1]
				}
				item.fields = append(item.fields, e)
			}
		}
		for _, e := range item.fields {
			if (e.key == "path" || e.key == "directory" || e.key == "text" || e.key == "value") && e.value.kind == text {
				n.items[i] = e.value
			}
		}
	}
	return n
}
