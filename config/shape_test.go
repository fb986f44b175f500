package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// shape checks values against the part of JSON Schema that schema.json uses. A
// keyword beyond that part is an error, never silently ignored.
type shape struct {
	nothing bool // the schema "false", which no value satisfies

	Schema, Title, Description string
	Default                    any
	Type                       string
	Properties                 map[string]*shape
	AdditionalProperties       *shape
	Items                      *shape
	AnyOf                      []*shape
	Enum                       []any
	Pattern                    string
	Minimum                    *float64
	Ref                        string
	Defs                       map[string]*shape
}

func (s *shape) UnmarshalJSON(data []byte) error {
	if string(data) == "false" {
		s.nothing = true
		return nil
	}
	type keywords struct {
		Schema               string            `json:"$schema"`
		Title                string            `json:"title"`
		Description          string            `json:"description"`
		Default              any               `json:"default"`
		Type                 string            `json:"type"`
		Properties           map[string]*shape `json:"properties"`
		AdditionalProperties *shape            `json:"additionalProperties"`
		Items                *shape            `json:"items"`
		AnyOf                []*shape          `json:"anyOf"`
		Enum                 []any             `json:"enum"`
		Pattern              string            `json:"pattern"`
		Minimum              *float64          `json:"minimum"`
		Ref                  string            `json:"$ref"`
		Defs                 map[string]*shape `json:"$defs"`
	}
	var k keywords
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&k); err != nil {
		return err
	}
	*s = shape{Type: k.Type, Properties: k.Properties, AdditionalProperties: k.AdditionalProperties,
		Items: k.Items, AnyOf: k.AnyOf, Enum: k.Enum, Pattern: k.Pattern, Minimum: k.Minimum, Ref: k.Ref, Defs: k.Defs}
	return nil
}

// resolve replaces references to defs by the definitions. An unknown one is false.
func (s *shape) resolve(defs map[string]*shape) {
	if s.Ref != "" {
		def := defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		if def == nil {
			def = &shape{nothing: true}
		}
		*s = *def
	}
	for _, p := range s.Properties {
		p.resolve(defs)
	}
	if s.Items != nil {
		s.Items.resolve(defs)
	}
	for _, one := range s.AnyOf {
		one.resolve(defs)
	}
}

// check returns what is wrong with value, which yaml.Unmarshal made.
func (s *shape) check(path string, value any) (wrong []string) {
	fail := func(format string, args ...any) { wrong = append(wrong, path+": "+fmt.Sprintf(format, args...)) }
	if s.nothing {
		fail("must not be there")
	}
	if s.Type != "" && !hasType(value, s.Type) {
		fail("%v is not of type %s", value, s.Type)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, enumValue(value)) {
		fail("%v is none of %v", value, s.Enum)
	}
	if word, ok := value.(string); ok && s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(word) {
		fail("%q does not match %s", word, s.Pattern)
	}
	if n, ok := asNumber(value); ok && s.Minimum != nil && n < *s.Minimum {
		fail("%v is below %v", n, *s.Minimum)
	}
	fits := func(one *shape) bool { return len(one.check(path, value)) == 0 }
	if len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, fits) {
		fail("%v fits no alternative", value)
	}
	return append(wrong, s.checkInside(path, value)...)
}

// enumValue returns value as JSON has it: all numbers are of one type there.
func enumValue(value any) any {
	if n, ok := asNumber(value); ok {
		return n
	}
	return value
}

func (s *shape) checkInside(path string, value any) (wrong []string) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			property := s.Properties[key]
			if property == nil {
				property = s.AdditionalProperties
			}
			if property != nil {
				wrong = append(wrong, property.check(join(path, key), inner)...)
			}
		}
	case []any:
		for i, inner := range value {
			if s.Items != nil {
				wrong = append(wrong, s.Items.check(fmt.Sprintf("%s[%d]", path, i), inner)...)
			}
		}
	}
	return wrong
}

func hasType(value any, name string) bool {
	switch value.(type) {
	case map[string]any:
		return name == "object"
	case []any:
		return name == "array"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case int64, uint64:
		return name == "integer" || name == "number"
	case float64:
		return name == "number"
	}
	return false
}

func asNumber(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case uint64:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}
