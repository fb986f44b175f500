// Package schema validates JSON against a JSON schema, with errors that a model can act on. Schemas come from actions,
// and from MCP servers and the configuration of others.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Compile compiles the JSON schema of an object, draft 7 or 2020-12. The returned check is safe for concurrent use, and
// its errors name the field and the violation. Unknown types and references to external schemas are errors.
func Compile(schema json.RawMessage) (check func(object json.RawMessage) error, err error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if s.Type != "object" {
		return nil, errors.New(`the schema is not one of an object: it lacks "type": "object"`)
	}
	if err := types(&s); err != nil {
		return nil, err
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return nil, fmt.Errorf("resolve the schema: %w", err)
	}
	return func(object json.RawMessage) error {
		var instance any
		if err := json.Unmarshal(object, &instance); err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
		if err := resolved.Validate(instance); err != nil {
			return errors.New(plain(err))
		}
		return nil
	}, nil
}

// types rejects unknown types. The library accepts them, and no value would ever match.
func types(s *jsonschema.Schema) error {
	if s == nil {
		return nil
	}
	for _, t := range append([]string{s.Type}, s.Types...) {
		switch t {
		case "", "null", "boolean", "object", "array", "number", "string", "integer":
		default:
			return fmt.Errorf("the schema has the type %q, which JSON does not have", t)
		}
	}
	var below []*jsonschema.Schema
	for _, named := range []map[string]*jsonschema.Schema{s.Properties, s.PatternProperties, s.Defs, s.Definitions} {
		for _, b := range named {
			below = append(below, b)
		}
	}
	for _, listed := range [][]*jsonschema.Schema{s.PrefixItems, s.AllOf, s.AnyOf, s.OneOf, {s.Items, s.AdditionalProperties, s.Not}} {
		below = append(below, listed...)
	}
	for _, b := range below {
		if err := types(b); err != nil {
			return err
		}
	}
	return nil
}

// plain returns the reason of a validation error, with the field in front. The library wraps the reason once for each
// schema on the way, and the innermost path names the field.
func plain(err error) string {
	path := ""
	for inner := errors.Unwrap(err); inner != nil; err, inner = inner, errors.Unwrap(inner) {
		if at, ok := strings.CutPrefix(strings.TrimSuffix(err.Error(), ": "+inner.Error()), "validating "); ok {
			path = at
		}
	}
	reason := reason(strings.NewReplacer("<invalid reflect.Value>", "null", "<nil>", "null", "Unicode code points", "characters").Replace(err.Error()))
	if field := fieldAt(path); field != "" {
		return field + ": " + reason
	}
	return reason
}

// reason returns a reason of the library without the keyword in front, with plain numbers: the library writes fractions, and six decimals.
func reason(said string) string {
	keyword, rest, ok := strings.Cut(said, ": ")
	switch keyword {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		words := strings.Fields(rest)
		for i, word := range words {
			if n, ok := new(big.Rat).SetString(word); ok {
				f, _ := n.Float64()
				words[i] = strconv.FormatFloat(f, 'f', -1, 64)
			}
		}
		return strings.Join(words, " ")
	case "anyOf": // a line for each alternative
		_, lines, _ := strings.Cut(rest, "\n")
		all := strings.Split(lines, "\n")
		for i, line := range all {
			for strings.HasPrefix(line, "validating ") {
				_, line, _ = strings.Cut(line, ": ")
			}
			all[i] = reason(line)
		}
		return strings.Join(all, "; ")
	}
	if !ok || strings.ContainsAny(keyword, ` ["`) {
		return said
	}
	return rest
}

// fieldAt converts a path in a schema to the path of the field that it describes, such as "a[].b".
func fieldAt(path string) string {
	var b strings.Builder
	steps := strings.Split(path, "/")
	for i := 1; i < len(steps); i++ {
		switch {
		case steps[i] == "properties" && i+1 < len(steps):
			i++
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[i]))
		case steps[i] == "items", steps[i] == "prefixItems":
			b.WriteString("[]")
		}
	}
	return b.String()
}
