package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"parley/internal/sections"
)

// mark describes the value of a key: its position, and its name in messages.
type mark struct {
	file         string // its file; empty for the configuration itself
	line, column int
	subject      string // how a message refers to the value, without revealing one that can be secret
	bad          bool   // a problem has been reported
}

// decoder fills a Config from nodes and collects all problems. It is used for one file.
type decoder struct {
	file     string
	refs     resolver
	config   *Config
	marks    map[string]*mark // by the path of the key, such as web.origins[0]
	problems Problems

	character string // the path of the character file; empty without one
	knows     bool   // the character file sets the agent's knowledge
}

// reject reports a problem with the value at path, at its position. Only the first one of a value is reported, because
// further ones usually follow from it.
func (d *decoder) reject(path, what, hint string) {
	m := d.marks[path]
	if m == nil || m.bad {
		return // it, or its section, has been reported
	}
	m.bad = true
	d.report(m.line, m.column, path, m.subject+" "+what, hint)
	if m.file != "" {
		d.problems[len(d.problems)-1].File = m.file
	}
}

// broken reports whether one of paths, or a key below it, has been rejected.
func (d *decoder) broken(paths ...string) bool {
	for key, m := range d.marks {
		for _, path := range paths {
			if m.bad && (key == path || strings.HasPrefix(key, path+".") || strings.HasPrefix(key, path+"[")) {
				return true
			}
		}
	}
	return false
}

// report adds a problem.
func (d *decoder) report(line, column int, path, message, hint string) {
	d.problems = append(d.problems,
		Problem{File: d.file, Line: line, Column: column, Key: path, Message: message, Hint: hint})
}

// decode sets into to the value of n, which is at path. It records the value's position first, for later checks. Keys
// that are not in the file arrive as absent nodes with their default as text, so that defaults are parsed and checked
// in the same way.
func (d *decoder) decode(path string, n *node, into reflect.Value) {
	form := d.config.Connectors.formOf(into.Type())
	if n.kind == section && form.kind != section && d.reportMoved(path, field{value: n}) {
		d.marks[path] = &mark{bad: true}
		return
	}
	d.marks[path] = &mark{file: n.file, line: n.line, column: n.column, subject: form.subject(n)}
	switch {
	case n.kind == nothing:
		d.reject(path, "has no value", "give it one, or remove the line")
	case n.kind == strange:
		d.reject(path, "uses "+n.text+", which is not supported here", "write the value plainly")
	case into.Type() == reflect.TypeFor[Object]() && (n.kind == section || n.kind == absent):
		if n.kind == section && len(n.fields) > 0 {
			text, _ := json.Marshal(free(n)) // of parsed values
			into.SetString(string(text))
		}
	case into.Type() == reflect.TypeFor[Price]() && n.kind != list:
		d.decodePrice(path, n, into, form)
	case into.Kind() == reflect.Map && (n.kind == section || n.kind == absent):
		d.table(path, n, into)
	case form.kind == section && (n.kind == section || n.kind == absent):
		d.section(path, n, into)
	case form.kind == list && (n.kind == list || n.kind == absent):
		d.list(path, n, into)
	case form.kind == section || form.kind == list || n.kind == section || n.kind == list:
		d.mismatch(path, n, form)
	default:
		d.scalar(path, n, into, form)
	}
}

// mismatch reports that a value is of another kind than its key takes.
func (d *decoder) mismatch(path string, n *node, form form) {
	d.reject(path, fmt.Sprintf("is %v, but should be %s", n.kind, form.name), form.hint)
}

// section decodes the keys of a section, including those that are not in the file.
func (d *decoder) section(path string, n *node, into reflect.Value) {
	all := entries(into)
	given := d.fields(path, n, all)
	for _, e := range all {
		value, ok := given[e.key]
		if !ok {
			value = &node{text: e.fallback} // without a position: it is not in the file
		}
		d.decode(join(path, e.key), value, e.value)
	}
}

// table decodes a section whose keys are chosen by the owner, such as headers.
func (d *decoder) table(path string, n *node, into reflect.Value) {
	var all []entry
	for _, f := range n.fields {
		all = append(all, entry{key: f.key})
	}
	table := reflect.MakeMap(into.Type())
	for key, value := range d.fields(path, n, all) {
		element := reflect.New(into.Type().Elem()).Elem()
		d.decode(join(path, key), value, element)
		table.SetMapIndex(reflect.ValueOf(key), element)
	}
	into.Set(table)
}

// free returns the value of a node whose shape is not known here, for encoding as JSON. Numbers keep their digits.
func free(n *node) any {
	switch n.kind {
	case section:
		all := map[string]any{}
		for _, f := range n.fields {
			all[f.key] = free(f.value)
		}
		return all
	case list:
		all := []any{}
		for _, i := range n.items {
			all = append(all, free(i))
		}
		return all
	case number, boolean:
		if json.Valid([]byte(n.text)) {
			return json.RawMessage(n.text)
		}
	case nothing:
		return nil
	}
	return n.text
}

// entry is one key of a section, with its default and the field for its value.
type entry struct {
	key, fallback string
	value         reflect.Value
	restart       bool // a change needs a restart
}

// entries returns the keys of a section, in order. Embedded structs are part of their section.
func entries(section reflect.Value) (all []entry) {
	switch described := section.Interface().(type) {
	case Connectors:
		return entriesOf(described)
	case Others:
		return entriesOf(described)
	case Object:
		return nil // its keys are free
	}
	for i := range section.NumField() {
		field := section.Type().Field(i)
		if key := field.Tag.Get("yaml"); field.Anonymous {
			all = append(all, entries(section.Field(i))...)
		} else if key != "-" {
			all = append(all, entry{key, field.Tag.Get("default"), section.Field(i), field.Tag.Get("restart") != ""})
		}
	}
	return all
}

func entriesOf(described []sections.Section) (all []entry) {
	for _, s := range described {
		all = append(all, entry{key: s.Name, value: reflect.ValueOf(s.Values).Elem()})
	}
	return all
}

// fields returns the values of the known keys of a section, and reports unknown and duplicate ones.
func (d *decoder) fields(path string, n *node, all []entry) map[string]*node {
	known := keysOf(all)
	given := make(map[string]*node, len(n.fields))
	lines := make(map[string]int, len(n.fields))
	for _, f := range n.fields {
		first, twice := lines[f.key]
		switch {
		case f.value.kind == strange && f.key == "":
			d.report(f.line, f.column, path, "a key uses "+f.value.text+", which is not supported here", "write the key plainly")
		case !slices.Contains(known, f.key) && d.reportMoved(join(path, f.key), f):
		case !slices.Contains(known, f.key):
			d.report(f.line, f.column, join(path, shorten(f.key)), "is not a known key", d.suggest(f.key, known))
		case twice:
			d.report(f.line, f.column, join(path, f.key), fmt.Sprintf("is a duplicate, first set in line %d", first), "keep one of the two")
		default:
			given[f.key], lines[f.key] = f.value, f.line
		}
	}
	return given
}

// list decodes the items of a list.
func (d *decoder) list(path string, n *node, into reflect.Value) {
	items := n.items
	if n.kind == absent && n.text != "" { // the default
		for _, item := range strings.Split(n.text, ", ") {
			items = append(items, &node{text: item})
		}
	}
	for i, item := range items {
		element := reflect.New(into.Type().Elem()).Elem()
		d.decode(fmt.Sprintf("%s[%d]", path, i), item, element)
		into.Set(reflect.Append(into, element))
	}
}

// scalar decodes a single value. References are resolved in texts and defaults only; after that, the kind of YAML node
// doesn't matter, as a variable is always text. From then on messages call the value by its reference, since it can be
// secret.
func (d *decoder) scalar(path string, n *node, into reflect.Value, form form) {
	value, first := n.text, ""
	if n.kind == text || n.kind == absent {
		before := len(*d.refs.opened)
		resolved, used, wrong := d.refs.resolve(n.text)
		if strings.HasPrefix(path, "agent.") {
			d.config.Prompts = append(d.config.Prompts, (*d.refs.opened)[before:]...)
		}
		if wrong != nil {
			d.marks[path].bad = true
			d.report(n.line, n.column, path, wrong.message, wrong.hint)
			return
		}
		value, first = resolved, used
	}
	if first != "" {
		d.marks[path].subject = "the value of " + first
	}
	isAuto := into.Kind() == reflect.Pointer && (value == "auto" || n.kind == absent && n.text == "")
	switch {
	case isAuto:
	case n.kind == absent && n.text == "": // no default: the zero value
	case n.kind != form.kind && n.kind != absent && first == "":
		d.mismatch(path, n, form)
	case !form.set(into, value):
		d.reject(path, "is not "+form.name, form.hint)
	}
}

// join returns the path of a key in the section at path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
