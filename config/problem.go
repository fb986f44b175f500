package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"parley/internal/nearest"
)

// Problem is one error in a configuration. It never contains a value from the environment or from another file.
type Problem struct {
	File         string // as given to Load or Parse; can be empty
	Line, Column int    // from 1; 0 if the problem has no position in the file
	Key          string // such as web.origins[0]; empty for the file as a whole
	Message      string // a full sentence
	Hint         string // the remedy; can be empty
}

// Error returns "file:line:column: key: message; hint", without the unknown parts.
func (p Problem) Error() string {
	var b strings.Builder
	switch {
	case p.File != "" && p.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	case p.File != "":
		fmt.Fprintf(&b, "%s: ", p.File)
	case p.Line > 0:
		fmt.Fprintf(&b, "%d:%d: ", p.Line, p.Column)
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// Problems lists all errors in the order of the file. It is never empty.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems, so that errors.As finds a single Problem.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// sorted sorts by position in the file, then by key.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Key, b.Key))
	})
	return ps
}

// keysOf returns the keys of entries.
func keysOf(all []entry) []string {
	keys := make([]string, len(all))
	for i, e := range all {
		keys[i] = e.key
	}
	return keys
}

// suggest returns a hint for an unknown key: the known key that was probably meant, the section where the key belongs,
// or all known keys.
func (d *decoder) suggest(key string, known []string) string {
	key = strings.ToLower(shorten(key))
	if near := nearest.Names(key, known, 2); len(near) > 0 {
		return fmt.Sprintf("did you mean %s?", near[0])
	}
	if places := d.placesOf(key, "", reflect.ValueOf(d.config).Elem()); len(places) == 1 {
		return "it belongs in another section: write it as " + places[0]
	}
	if len(known) == 0 {
		return "remove it"
	}
	return "known keys: " + strings.Join(known, ", ")
}

// placesOf returns the paths of every key with the name in a section and its subsections.
func (d *decoder) placesOf(key, path string, in reflect.Value) (all []string) {
	for _, e := range entries(in) {
		if e.key == key {
			all = append(all, join(path, e.key))
		}
		if d.config.Connectors.formOf(e.value.Type()).kind == section {
			all = append(all, d.placesOf(key, join(path, e.key), e.value)...)
		}
	}
	return all
}

// shorten returns text on one short line, as messages quote from the file.
func shorten(text string) string {
	const most = 40
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return string(runes)
}
