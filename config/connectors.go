package config

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/internal/sections"
)

// Connectors are the sections of the chat platforms, in the order of their descriptors. Values points to what was read.
type Connectors []sections.Section

// fresh returns sections with values of their own.
func fresh(sections []sections.Section) Connectors {
	all := slices.Clone(sections)
	for i, s := range all {
		all[i].Values = reflect.New(reflect.TypeOf(s.Values).Elem()).Interface()
	}
	return all
}

// Section returns the values of the platform with values of type T. It panics if there is none.
func Section[T any](all Connectors) *T {
	for _, s := range all {
		if values, ok := s.Values.(*T); ok {
			return values
		}
	}
	panic("config: no section has values of the type " + reflect.TypeFor[T]().String())
}

// ConnectorsOn returns the platforms that have credentials and are not turned off.
func (c Config) ConnectorsOn() (on Connectors) {
	for _, s := range c.Connectors {
		if connectorToggle(s).on() {
			on = append(on, s)
		}
	}
	return on
}

// WithoutConnectors is c with every platform off.
func (c Config) WithoutConnectors() Config {
	c.Connectors = nil
	return c
}

func connectorPath(s sections.Section) string { return "connectors." + s.Name }

// variable is the one in the default of a secret.
var variable = regexp.MustCompile(`^\$\{env:([A-Za-z0-9_]+):-\}$`)

func connectorToggle(s sections.Section) toggle {
	t := toggle{name: s.Title, path: connectorPath(s), secret: s.Secret}
	for _, e := range entries(reflect.ValueOf(s.Values).Elem()) {
		switch enabled, ok := e.value.Interface().(*bool); {
		case e.key == "enabled" && ok:
			t.enabled = enabled
		case e.key == s.Secret:
			t.given = !e.value.IsZero()
			if m := variable.FindStringSubmatch(e.fallback); m != nil {
				t.variables = m[1]
			}
		}
	}
	return t
}

// check calls the checks of the platforms.
func (all Connectors) check(d *decoder) {
	for _, s := range all {
		if c, ok := s.Values.(sections.Checker); ok {
			c.Check(func(key, what, hint string) { d.reject(connectorPath(s)+"."+key, what, hint) })
		}
	}
}

// idForm is the form of one kind of id.
func (all Connectors) idForm(name string, kind func(sections.Section) sections.ID, more ...string) form {
	pattern, examples := all.ids(kind, more...)
	hint := "write the platform and the id in quotes"
	if len(examples) > 0 {
		hint += ", such as " + strings.Join(examples[:min(2, len(examples))], " or ")
	}
	return form{text, name, hint, false, func(s string) (any, bool) { return s, regexp.MustCompile(pattern).MatchString(s) }}
}

// ids returns what matches one kind of id on any platform, and examples, the shortest first. A misspelled platform would
// otherwise never match, without any notice.
func (all Connectors) ids(kind func(sections.Section) sections.ID, more ...string) (pattern string, examples []string) {
	var patterns []string
	for _, s := range all {
		if id := kind(s); id.Pattern != "" {
			patterns = append(patterns, s.Name+":"+id.Pattern)
			examples = append(examples, strconv.Quote(s.Name+":"+id.Example))
		}
	}
	slices.SortStableFunc(examples, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return oneOf(append(patterns, more...)), examples
}

// oneOf is a pattern for what matches one of patterns as a whole.
func oneOf(patterns []string) string {
	switch len(patterns) {
	case 0:
		return `^[^\s\S]$` // nothing
	case 1:
		return "^" + patterns[0] + "$"
	}
	return "^(" + strings.Join(patterns, "|") + ")$"
}

// local are the accounts that need no platform.
const local = `(web|terminal):[!-~]{1,200}`
