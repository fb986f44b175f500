package discordfake

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// schema is a JSON schema as OpenAPI 3.1 writes it.
type schema map[string]any

const schemaPrefix = "#/components/schemas/"

// check returns what is wrong with a value, or "". Keywords that Discord's
// description does not use are not known here.
func (s *Spec) check(want schema, value any, at string) string {
	if ref, ok := want["$ref"].(string); ok {
		target, found := s.schemas[strings.TrimPrefix(ref, schemaPrefix)]
		if !found {
			return at + ": the description lacks " + ref
		}
		return s.check(target, value, at)
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if branches := list(want[keyword]); branches != nil {
			if problem := s.checkAny(branches, value, at); problem != "" {
				return problem
			}
		}
	}
	if !typeFits(want["type"], value) {
		return fmt.Sprintf("%s: %s is not of type %v", at, kindOf(value), want["type"])
	}
	if problem := checkChoice(want, value, at); problem != "" {
		return problem
	}
	switch v := value.(type) {
	case map[string]any:
		return s.checkObject(want, v, at)
	case []any:
		return s.checkArray(want, v, at)
	case string:
		return checkString(want, v, at)
	case json.Number:
		return checkNumber(want, v, at)
	}
	return ""
}

// checkAny wants one branch to fit. Of the problems it tells the one that lies
// deepest, as that branch was probably meant.
func (s *Spec) checkAny(branches []schema, value any, at string) string {
	deepest := ""
	for _, branch := range s.meant(branches, value) {
		problem := s.check(branch, value, at)
		if problem == "" {
			return ""
		}
		if deepest == "" || len(place(problem)) > len(place(deepest)) {
			deepest = problem
		}
	}
	return deepest
}

// meant are the branches that a value's "type" field names, or all if it names
// none.
func (s *Spec) meant(branches []schema, value any) []schema {
	object, ok := value.(map[string]any)
	if !ok || object["type"] == nil {
		return branches
	}
	named := slices.DeleteFunc(slices.Clone(branches), func(branch schema) bool {
		kind, typed := s.fieldsOf(branch).properties["type"]
		return !typed || s.check(kind, object["type"], "") != ""
	})
	if len(named) == 0 {
		return branches
	}
	return named
}

func place(problem string) string {
	before, _, _ := strings.Cut(problem, ": ")
	return before
}

// checkObject knows every field by the properties of the schema and of all
// that it is composed of.
func (s *Spec) checkObject(want schema, value map[string]any, at string) string {
	fields := s.fieldsOf(want)
	for _, name := range fields.required {
		if _, present := value[name]; !present {
			return at + "." + name + ": missing"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		v := value[name]
		field, known := fields.properties[name]
		switch {
		case known:
			if problem := s.check(field, v, at+"."+name); problem != "" {
				return problem
			}
		case fields.others != nil:
			if problem := s.check(fields.others, v, at+"."+name); problem != "" {
				return problem
			}
		case !fields.open:
			return at + "." + name + ": unknown field"
		}
	}
	return ""
}

// fields is what an object may hold.
type fields struct {
	properties map[string]schema
	required   []string
	others     schema // of fields that are not named
	open       bool   // anything goes, or another branch decides
}

func (s *Spec) fieldsOf(want schema) fields {
	f := fields{properties: map[string]schema{}}
	s.collect(want, &f)
	return f
}

func (s *Spec) collect(want schema, into *fields) {
	if ref, ok := want["$ref"].(string); ok {
		want = s.schemas[strings.TrimPrefix(ref, schemaPrefix)]
	}
	if properties, ok := want["properties"].(map[string]any); ok {
		for name, p := range properties {
			if sub, ok := p.(map[string]any); ok {
				into.properties[name] = sub
			}
		}
	}
	for _, name := range anyList(want["required"]) {
		into.required = append(into.required, fmt.Sprint(name))
	}
	switch others := want["additionalProperties"].(type) {
	case bool:
		into.open = into.open || others
	case map[string]any:
		into.others = others
	}
	into.open = into.open || want["oneOf"] != nil || want["anyOf"] != nil
	for _, part := range list(want["allOf"]) {
		s.collect(part, into)
	}
}

func (s *Spec) checkArray(want schema, value []any, at string) string {
	if n, ok := bound(want, "maxItems"); ok && len(value) > int(n) {
		return fmt.Sprintf("%s: %d items, more than %d", at, len(value), int(n))
	}
	if n, ok := bound(want, "minItems"); ok && len(value) < int(n) {
		return fmt.Sprintf("%s: %d items, fewer than %d", at, len(value), int(n))
	}
	items, ok := want["items"].(map[string]any)
	for i, v := range value {
		if unique, _ := want["uniqueItems"].(bool); unique && slices.ContainsFunc(value[:i], func(o any) bool { return reflect.DeepEqual(o, v) }) {
			return fmt.Sprintf("%s[%d]: not unique", at, i)
		}
		if !ok {
			continue
		}
		if problem := s.check(items, v, fmt.Sprintf("%s[%d]", at, i)); problem != "" {
			return problem
		}
	}
	return ""
}

func checkString(want schema, value, at string) string {
	length := utf8.RuneCountInString(value)
	if n, ok := bound(want, "maxLength"); ok && length > int(n) {
		return fmt.Sprintf("%s: %d characters, more than %d", at, length, int(n))
	}
	if n, ok := bound(want, "minLength"); ok && length < int(n) {
		return fmt.Sprintf("%s: %d characters, fewer than %d", at, length, int(n))
	}
	if pattern, ok := want["pattern"].(string); ok {
		if fits, err := regexp.MatchString(pattern, value); err == nil && !fits {
			return fmt.Sprintf("%s: %q does not match %s", at, value, pattern)
		}
	}
	return ""
}

func checkNumber(want schema, value json.Number, at string) string {
	n, ok := new(big.Float).SetString(string(value))
	if !ok {
		return at + ": not a number"
	}
	if low, ok := bound(want, "minimum"); ok && n.Cmp(big.NewFloat(low)) < 0 {
		return fmt.Sprintf("%s: %s is less than %v", at, value, low)
	}
	if high, ok := bound(want, "maximum"); ok && n.Cmp(big.NewFloat(high)) > 0 {
		return fmt.Sprintf("%s: %s is more than %v", at, value, high)
	}
	return ""
}

func checkChoice(want schema, value any, at string) string {
	same := func(option any) bool { return fmt.Sprint(option) == fmt.Sprint(value) }
	if constant, ok := want["const"]; ok && !same(constant) {
		return fmt.Sprintf("%s: not %v", at, constant)
	}
	if options := anyList(want["enum"]); options != nil && !slices.ContainsFunc(options, same) {
		return fmt.Sprintf("%s: none of %v", at, options)
	}
	return ""
}

// typeFits reports whether a value has one of the named types; no name fits all.
func typeFits(names, value any) bool {
	kind := kindOf(value)
	fits := func(name any) bool {
		return name == kind || name == "number" && kind == "integer"
	}
	switch n := names.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(n, fits)
	}
	return fits(names)
}

func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if _, whole := new(big.Int).SetString(string(v), 10); whole {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func bound(want schema, keyword string) (float64, bool) {
	n, ok := want[keyword].(float64)
	return n, ok
}

func anyList(v any) []any {
	l, _ := v.([]any)
	return l
}

func list(v any) []schema {
	var out []schema
	for _, item := range anyList(v) {
		if sub, ok := item.(map[string]any); ok {
			out = append(out, sub)
		}
	}
	return out
}
