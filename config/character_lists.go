package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// examples reads conversations in all the forms that there are: lists of messages, or sections with a list of them under
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

// example is a message, whose text and actions may stand under content.
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
				e.value.text = f.people(e.value.text)
				out.fields = append(out.fields, e)
			case e.key == "actions" && e.value.kind == list:
				out.fields = append(out.fields, e)
			}
		}
	}
	return out
}

// people puts names where an example leaves them open: always the same, so that prompts stay the same.
func (f *characterFile) people(said string) string {
	names := []string{"Ann", "Ben", "Cleo", "Dan", "Eve"}
	var pairs []string
	for i, name := range names {
		pairs = append(pairs, fmt.Sprintf("{{name%d}}", i+1), name, fmt.Sprintf("{{user%d}}", i+1), name)
	}
	return f.plain(&node{kind: text, text: strings.NewReplacer(pairs...).Replace(said)}).text
}

// knowledge is a list of texts and of places of files, in all the forms that there are.
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
	for _, item := range n.items {
		if item.kind == text && !filepath.IsAbs(item.text) {
			if path := filepath.Join(f.dir, item.text); exists(path) {
				item.text = path
			}
		}
	}
	return n
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Document is a text that the agent knows.
type Document struct {
	Name string // of the file; empty for a sentence
	Text string
}

const (
	maxDocument  = 1 << 20 // bytes of a file
	maxDocuments = 8 << 20 // of all
	maxDepth     = 5       // folders in one another
)

// documents reads what the agent knows. An entry that names a file or folder, from dir, is read, text files only; any other with
// a space in it is the text itself. The warnings tell what was left out.
func (a Agent) documents(dir string) (all []Document, warnings []string) {
	size := 0
	add := func(name, text string) {
		if size += len(text); size > maxDocuments {
			warnings = append(warnings, fmt.Sprintf("agent.knowledge: %s is left out: there are more than %d MB in all", name, maxDocuments>>20))
			return
		}
		all = append(all, Document{name, text})
	}
	for _, entry := range a.Knowledge {
		path := entry
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if !exists(path) {
			if strings.ContainsAny(entry, " \n\u3000") || !strings.ContainsAny(entry, "./\\") {
				add("", entry)
			} else {
				warnings = append(warnings, fmt.Sprintf("agent.knowledge: there is no file %s", entry))
			}
			continue
		}
		warnings = append(warnings, readDocuments(path, add)...)
	}
	return all, warnings
}

// readDocuments reads a file, or the files of a folder, in the order of their names.
func readDocuments(root string, add func(name, text string)) (warnings []string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch rel, _ := filepath.Rel(root, path); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || strings.Count(rel, string(filepath.Separator)) >= maxDepth):
			return filepath.SkipDir
		case d.IsDir() || strings.HasPrefix(d.Name(), ".") && path != root:
			return nil
		}
		text, why := readDocument(path)
		if why != "" {
			warnings = append(warnings, fmt.Sprintf("agent.knowledge: %s is left out: %s", path, why))
			return nil
		}
		add(filepath.Base(path), text)
		return nil
	})
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("agent.knowledge: %v", err))
	}
	return warnings
}

func readDocument(path string) (text, why string) {
	file, err := os.Open(path)
	if err != nil {
		return "", err.Error()
	}
	defer file.Close()
	data, err := readAtMost(file, maxDocument)
	switch {
	case err != nil:
		return "", err.Error()
	case !utf8.Valid(data) || strings.IndexByte(string(data), 0) >= 0:
		return "", "it is not plain text"
	}
	return string(data), ""
}
