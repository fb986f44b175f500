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

// Connectors are the sections of the chat platforms, in the order of their descriptors. Values points to the decoded
// section.
type Connectors []sections.Section

// fresh returns sections with new values: descriptors are shared, and several configurations can be read.
func fresh(sections []sections.Section) []sections.Section {
	all := slices.Clone(sections)
	for i, s := range all {
		all[i].Values = reflect.New(reflect.TypeOf(s.Values).Elem()).Interface()
	}
	return all
}

// ConnectorsOn returns the platforms that have credentials.
func (c Config) ConnectorsOn() (on Connectors) {
	for _, s := range c.Connectors {
		if toggleOf(s).given {
			on = append(on, s)
		}
	}
	return on
}

// WithoutConnectors returns c with every platform disabled.
func (c Config) WithoutConnectors() Config {
	c.Connectors = nil
	return c
}

// pathOf returns the key of a section: only providers have capabilities.
func pathOf(s sections.Section) string {
	return map[bool]string{true: "connectors.", false: "providers."}[s.Can == nil] + s.Name
}

// variable matches the environment variable in the default of a secret.
var variable = regexp.MustCompile(`^\$\{env:([A-Za-z0-9_]+):-\}$`)

// toggleOf returns the key that enables a section: its secret. The variable of the secret's default is named in
// hints.
func toggleOf(s sections.Section) toggle {
	t := toggle{name: s.Title, path: pathOf(s), secret: s.Secret}
	for _, e := range entries(reflect.ValueOf(s.Values).Elem()) {
		if e.key == s.Secret {
			t.given = !e.value.IsZero()
			if m := variable.FindStringSubmatch(e.fallback); m != nil {
				t.variables = m[1]
			}
		}
	}
	return t
}

// check runs the platforms' checks.
func (all Connectors) check(d *decoder) {
	for _, s := range all {
		if c, ok := s.Values.(sections.Checker); ok {
			c.Check(func(key, what, hint string) { d.reject(pathOf(s)+"."+key, what, hint) })
		}
	}
}

// idForm returns the form of ids of one kind, such as accounts, on any platform.
func (all Connectors) idForm(name string, kind func(sections.Section) sections.ID, more ...string) form {
	pattern, examples := all.ids(kind, more...)
	hint := "write the platform and the id in quotes"
	if len(examples) > 0 {
		hint += ", such as " + strings.Join(examples[:min(2, len(examples))], " or ")
	}
	return form{text, name, hint, false, func(s string) (any, bool) { return s, regexp.MustCompile(pattern).MatchString(s) }}
}

// ids returns a pattern for one kind of id on any platform, and examples, the shortest first. A misspelled platform
// would otherwise never match anything and go unnoticed.
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

// The kinds of ids.
func account(s sections.Section) sections.ID { return s.Account }
func room(s sections.Section) sections.ID    { return s.Chat }
func server(s sections.Section) sections.ID  { return s.World }
func role(s sections.Section) sections.ID    { return s.Role }

// The marks between a platform and an id, for ids that look like those of another kind.
const (
	roles   = ":role:"
	servers = ":server:"
)

// patterns returns the patterns of one kind of id with a mark before it, one for each platform that has the kind.
func (all Connectors) patterns(mark string, kind func(sections.Section) sections.ID) (patterns []string) {
	for _, s := range all {
		if id := kind(s); id.Pattern != "" {
			patterns = append(patterns, s.Name+mark+id.Pattern)
		}
	}
	return patterns
}

// names returns the names of the platforms.
func (all Connectors) names() (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// Role returns the platform and the role of m, as "platform:id"; ok is false if m is an account.
func (m Member) Role() (id string, ok bool) { return marked(string(m), roles) }

// Server returns the platform and the server of c, as "platform:id"; ok is false if c is a group or channel.
func (c Chat) Server() (id string, ok bool) { return marked(string(c), servers) }

func marked(id, mark string) (string, bool) {
	platform, of, ok := strings.Cut(id, mark)
	return platform + ":" + of, ok && !strings.Contains(platform, ":")
}

// oneOf returns a pattern that matches any of patterns.
func oneOf(patterns []string) string {
	switch len(patterns) {
	case 0:
		return `^[^\s\S]$` // matches nothing
	case 1:
		return "^" + patterns[0] + "$"
	}
	return "^(" + strings.Join(patterns, "|") + ")$"
}

// local matches accounts of the web chat and the terminal, which have no platform section.
const local = `(web|terminal):[!-~]{1,200}`
