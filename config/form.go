package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// form is how the values of one Go type are written in the file.
type form struct {
	kind  kind   // what YAML has to hold, where no reference stands for it
	name  string // "a duration": ends the sentence "this is not ..."
	hint  string
	shown bool // whether a message may repeat the value: never where a token could be pasted
	parse func(text string) (any, bool)
}

func formOf(t reflect.Type) form {
	switch reflect.Zero(t).Interface().(type) {
	case time.Duration:
		return form{text, "a duration", "write a number with its unit, such as 90s, 15m or 1h", true, parsed(time.ParseDuration)}
	case netip.Prefix:
		return form{text, "a range of addresses", `write the first address and the length, such as "10.0.0.0/8" or "192.0.2.7/32"`, true, parseRange}
	case Account:
		return form{text, "an account id", `write the platform and the id in quotes, such as "telegram:123456789" or "discord:80351110224678912"`, false, parseAccount}
	case Chat:
		return form{text, "a group or channel", `write the platform and the id in quotes, such as "telegram:-1001234567890" or "discord:80351110224678912"`, false, parseChat}
	case World:
		return form{text, "a server", `write the platform and the id in quotes, such as "discord:80351110224678912"`, false, parseMember}
	case Role:
		return form{text, "a role", `write the platform and the id in quotes, such as "discord:80351110224678912"`, false, parseMember}
	}
	if e, ok := reflect.Zero(t).Interface().(enum); ok && t.Kind() != reflect.Pointer {
		return enumForm(e.words())
	}
	switch t.Kind() {
	case reflect.Pointer:
		f := formOf(t.Elem())
		f.name, f.hint = strings.Replace(f.name, " or ", ", ", 1)+" or auto", f.hint+", or auto"
		return f
	case reflect.Struct:
		return form{kind: section, name: "a section", hint: "write its keys below it, each indented by two spaces"}
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

// set stores text in into, which may be a pointer; false if the text is not of this form.
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

// subject is how a message calls the value of n.
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

func parseRange(text string) (any, bool) {
	prefix, err := netip.ParsePrefix(text)
	return prefix, err == nil && prefix == prefix.Masked()
}

// accountID matches the ids of each platform. A misspelled platform would
// otherwise never match, without any notice.
var accountID = regexp.MustCompile(`^(discord:[0-9]{1,20}|telegram:-?[0-9]{1,20}|(web|terminal):[!-~]{1,200})$`)

func parseAccount(text string) (any, bool) {
	return text, accountID.MatchString(text)
}

var chatID = regexp.MustCompile(`^(discord:[0-9]{1,20}|telegram:-[0-9]{1,20})$`)

func parseChat(text string) (any, bool) {
	return text, chatID.MatchString(text)
}

// memberID is that of a server or a role: only one platform has them.
var memberID = regexp.MustCompile(`^discord:[0-9]{1,20}$`)

func parseMember(text string) (any, bool) {
	return text, memberID.MatchString(text)
}

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
