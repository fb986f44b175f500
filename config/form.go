package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/core/quota"
)

// form describes how values of a Go type are written in the file, for parsing and for messages.
type form struct {
	kind  kind   // the kind of YAML node that it needs, unless it is a reference
	name  string // "a duration": ends the sentence "this is not ..."
	hint  string // how to write such a value
	shown bool   // whether messages can repeat the value: never where a token could be pasted by mistake
	parse func(text string) (any, bool)
}

// formOf returns the form of a type. The forms of ids depend on the platforms. A type without a form is a mistake in
// this program, so it panics.
func (all Connectors) formOf(t reflect.Type) form {
	switch reflect.Zero(t).Interface().(type) {
	case time.Duration:
		return form{text, "a duration", "write a number with its unit, such as 90s, 15m or 1h", true, parsed(time.ParseDuration)}
	case netip.Prefix:
		return form{text, "a range of addresses", `write the first address and the length, such as "10.0.0.0/8" or "192.0.2.7/32"`, true, parseRange}
	case Account:
		return all.idForm("an account id", account, local)
	case Member:
		return all.idForm("an account or a role", account, append(all.patterns(roles, role), local)...)
	case Chat:
		return all.idForm("a group, a channel or a server", room, append(append(all.patterns(servers, server), all.names()...), "web")...)
	case Place:
		return all.idForm("a group, a channel or an account", room, all.patterns(":", account)...)
	case Provider:
		return form{text, "a provider", "write a key of providers, such as openai", true, func(s string) (any, bool) { return s, true }}
	case quota.Rate:
		return form{number, "an amount of dollars", "write it in digits, with at most six decimals, such as 0.15", true, parsed(quota.ParseRate)}
	case quota.USD:
		return form{number, "an amount of dollars", "write it in digits, with at most nine decimals, such as 0.50", true, parsed(quota.ParseUSD)}
	case Price:
		return form{text, "a price", "write {input: 0.15, output: 0.60}, {as: openai/gpt-4o}, 0 for a free model, or auto", true, func(s string) (any, bool) { return s, true }}
	case Connectors, Others, Object:
		return sectionForm()
	}
	if e, ok := reflect.Zero(t).Interface().(enum); ok && t.Kind() != reflect.Pointer {
		return enumForm(e.Words())
	}
	switch t.Kind() {
	case reflect.Pointer:
		f := all.formOf(t.Elem())
		f.name, f.hint = strings.Replace(f.name, " or ", ", ", 1)+" or auto", f.hint+", or auto"
		return f
	case reflect.Struct, reflect.Map:
		return sectionForm()
	case reflect.Slice:
		return form{kind: list, name: "a list", hint: `write it in brackets, such as ["a", "b"], or [] for an empty one`}
	case reflect.Bool:
		return form{boolean, "true or false", "write true or false, without quotes", true, parseBool}
	case reflect.Int:
		return form{number, "a whole number", "write it in digits, without quotes", true, parsed(strconv.Atoi)}
	case reflect.Float64:
		return form{number, "a number", "write it in digits and without quotes, such as 0.7", true, parsed(parseFloat)}
	case reflect.String:
		return form{text, "text", "write it in quotes", false, func(s string) (any, bool) { return s, true }}
	}
	panic("config: no form for the type " + t.String())
}

// set parses text and stores the value in into, allocating it if that is a pointer. It returns false if the text does
// not have this form.
func (f form) set(into reflect.Value, text string) bool {
	value, ok := f.parse(text)
	if !ok {
		return false
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	into.Set(reflect.ValueOf(value).Convert(into.Type()))
	return true
}

// subject returns how a message refers to the value of n: by the value itself only if that can be shown.
func (f form) subject(n *node) string {
	switch {
	case n.kind == section || n.kind == list || n.kind == nothing || n.kind == strange:
		return "this"
	case f.shown && n.kind == text:
		return strconv.Quote(shorten(n.text))
	case f.shown:
		return shorten(n.text)
	}
	return "the value"
}

// parsed adapts a parser with an error.
func parsed[T any](parse func(string) (T, error)) func(string) (any, bool) {
	return func(text string) (any, bool) {
		value, err := parse(text)
		return value, err == nil
	}
}

func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

func parseBool(text string) (any, bool) {
	return text == "true", text == "true" || text == "false"
}

// parseRange parses a range of addresses. One with bits after its length, such as 10.0.0.1/8, is refused as a probable
// mistake.
func parseRange(text string) (any, bool) {
	prefix, err := netip.ParsePrefix(text)
	return prefix, err == nil && prefix == prefix.Masked()
}

func sectionForm() form {
	return form{kind: section, name: "a section", hint: "write its keys below it, each indented by two spaces"}
}

// enumForm is the form of a type with a fixed set of words.
func enumForm(words []string) form {
	quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = word; word == "" {
			quoted[i] = `""`
		}
	}
	parse := func(s string) (any, bool) { return s, slices.Contains(words, s) }
	last := len(quoted) - 1
	return form{text, "one of these words",
		fmt.Sprintf("write %s or %s", strings.Join(quoted[:last], ", "), quoted[last]), true, parse}
}
