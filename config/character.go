package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// maxCharacter is the maximum size of a character file.
const maxCharacter = 4 << 20

// characterKeys are the keys of the agent section that character files can have, there also in camel case.
var characterKeys = []string{ // never changed
	"name", "names", "username", "type", "system", "bio", "topics", "adjectives", "style", "message_examples", "post_examples", "knowledge", "templates",
}

// elsewhere returns a hint for a key of elizaOS's character files that has no meaning here.
func elsewhere(key string) string {
	switch key {
	case "id":
		return "the gateway has one agent and needs no id"
	case "plugins":
		return "plugins are compiled in; the functions of elizaOS's bootstrap plugin are built in"
	case "clients":
		return "chat platforms are enabled by their token; see connectors in config.yaml"
	case "secrets":
		return "put secrets into environment variables and refer to them in config.yaml, as in ${env:NAME}; this section was ignored"
	case "settings":
		return "set models, turns and access in config.yaml; this section was ignored"
	case "modelProvider":
		return "set models.large and providers in config.yaml"
	case "lore":
		return "move it to bio or knowledge"
	case "advancedPlanning", "advancedMemory":
		return "it has no effect here"
	}
	return "it is unknown"
}

// characterFile is a character file being converted to the agent section.
type characterFile struct {
	name     string // its name in messages
	agent    string // the agent's name
	warnings []Problem
}

// readCharacter returns a character file in the form of the agent section, and problems for the unsupported parts.
func readCharacter(path, name string) (*node, []Problem, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if len(data) > maxCharacter {
		return nil, nil, fmt.Errorf("it has more than %d bytes", maxCharacter)
	}
	read := readYAML
	if strings.EqualFold(filepath.Ext(path), ".json") {
		read = readJSON
	}
	root, wrong := read(data)
	if wrong != nil {
		wrong.File = name
		return nil, nil, *wrong
	}
	if root.kind != section {
		return nil, nil, Problem{File: name, Line: root.line, Column: root.column, Message: "a character file must be a mapping with keys"}
	}
	f := &characterFile{name: name}
	for _, e := range root.fields {
		if e.key == "name" {
			f.agent = e.value.text
		}
	}
	return f.convert(root), f.warnings, nil
}

func (f *characterFile) warn(e field, message string) {
	f.warnings = append(f.warnings, Problem{File: f.name, Line: e.line, Column: e.column, Key: e.key, Message: "is left out", Hint: message})
}

func (f *characterFile) convert(root *node) *node {
	out := &node{kind: section, line: root.line, column: root.column}
	for _, e := range root.fields {
		to := snake(e.key)
		switch {
		case e.value.kind == nothing:
			continue
		case !slices.Contains(characterKeys, to):
			f.warn(e, elsewhere(e.key))
			continue
		}
		e.key = to
		switch to {
		case "bio", "topics", "adjectives", "post_examples":
			e.value = f.texts(e.value)
		case "style":
			e.value = f.style(e.value)
		case "message_examples":
			e.value = f.examples(e.value)
		case "knowledge":
			e.value = f.knowledge(e.value)
		case "templates":
			e.value = f.templates(e.value)
		default:
			f.plain(e.value)
		}
		e.value.own(f.name)
		out.fields = append(out.fields, e)
	}
	return out
}

// own marks n and its children as part of a file. References are not resolved there, because character files are shared
// and could otherwise read secrets.
func (n *node) own(file string) {
	n.file = file
	n.text = strings.ReplaceAll(n.text, "${", "$${")
	for _, e := range n.fields {
		e.value.own(file)
	}
	for _, item := range n.items {
		item.own(file)
	}
}

// plain inserts the agent's name where elizaOS does so when it loads a character.
func (f *characterFile) plain(n *node) *node {
	if n.kind == text && f.agent != "" {
		n.text = strings.NewReplacer("{{agentName}}", f.agent, "{{name}}", f.agent, "{{char}}", f.agent).Replace(n.text)
	}
	return n
}

// texts returns a list; a single text counts as one.
func (f *characterFile) texts(n *node) *node {
	if n.kind == text {
		n = &node{kind: list, line: n.line, column: n.column, items: []*node{n}}
	}
	for _, item := range n.items {
		f.plain(item)
	}
	return n
}

func (f *characterFile) style(n *node) *node {
	for i, e := range n.fields {
		if e.key == "all" || e.key == "chat" || e.key == "post" {
			n.fields[i].value = f.texts(e.value)
		} else {
			f.warn(e, "there are all, chat and post")
		}
	}
	n.fields = slices.DeleteFunc(n.fields, func(e field) bool { return e.key != "all" && e.key != "chat" && e.key != "post" })
	return n
}

func (f *characterFile) templates(n *node) *node {
	known := keysOf(entries(reflect.ValueOf(Templates{})))
	var kept []field
	for _, e := range n.fields {
		to := snake(strings.TrimSuffix(e.key, "Template"))
		if !slices.Contains(known, to) {
			f.warn(e, "there is no such template; docs/character.md lists them")
			continue
		}
		e.key = to
		kept = append(kept, e)
	}
	n.fields = kept
	return n
}

// withCharacter adds the values of the character file to the agent section, where that has none.
func (d *decoder) withCharacter(root *node) (warnings []string) {
	agent := root.find("agent")
	if agent == nil || agent.find("character") == nil || agent.find("character").kind != text {
		return nil
	}
	at := agent.find("character")
	path, _, wrong := d.refs.resolve(at.text)
	if wrong != nil || path == "" {
		return nil // reported when the value is decoded
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.refs.dir, path)
	}
	shown := path
	if whole, err := filepath.Abs(path); err == nil { // relative paths in the file start at its folder
		path = whole
	}
	character, left, err := readCharacter(path, shown)
	if problem, ok := errors.AsType[Problem](err); ok {
		d.problems = append(d.problems, problem)
		return nil
	} else if err != nil {
		d.report(at.line, at.column, "agent.character", "the character can't be read: "+err.Error(), "set the path of its file, relative to this one")
		return nil
	}
	if character.find("system") == nil && (character.find("bio") != nil || character.find("style") != nil) && agent.find("system") == nil {
		character.fields = append(character.fields, field{key: "system", value: &node{kind: text, file: shown, text: "You are " + character.nameOr("the agent") + ". Stay in character."}})
	}
	d.character = path
	for _, e := range character.fields {
		if agent.find(e.key) == nil {
			d.knows = d.knows || e.key == "knowledge"
			agent.fields = append(agent.fields, e)
		}
	}
	for _, p := range left {
		warnings = append(warnings, p.Error())
	}
	return warnings
}

// find returns the value of a section's key, or nil.
func (n *node) find(key string) *node {
	for _, e := range n.fields {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

func (n *node) nameOr(other string) string {
	if name := n.find("name"); name != nil && name.text != "" {
		return name.text
	}
	return other
}

// places returns the positions of the configured templates, by name.
func (d *decoder) places(set Templates) map[string]string {
	all := map[string]string{}
	for name := range set.ByName() {
		key := "agent.templates." + snake(name)
		if m := d.marks[key]; m.line > 0 {
			all[name] = fmt.Sprintf("%s:%d:%d: %s", cmp.Or(m.file, d.file), m.line, m.column, key)
		}
	}
	return all
}
