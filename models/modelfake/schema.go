package modelfake

import (
	"encoding/json"
	"fmt"
	"slices"
)

// CheckSchema returns why a strict provider refuses the schema of a tool's parameters, or "". It has the rules of OpenAI
// and Anthropic; those of Google, with open, allow objects below the top without properties.
func CheckSchema(raw json.RawMessage, open bool) string {
	var top map[string]any
	if err := json.Unmarshal(raw, &top); err != nil || top == nil {
		return "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'"
	}
	if top["type"] != "object" {
		return fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: %v'", top["type"])
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
		if _, ok := top[key]; ok {
			return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"
		}
	}
	return checkSchema(top, "", open)
}

// checkSchema judges a schema at a path.
func checkSchema(s map[string]any, at string, open bool) string {
	properties, described := s["properties"].(map[string]any)
	types, _ := s["type"].([]any)
	isA := func(kind string) bool { return s["type"] == kind || slices.Contains(types, any(kind)) }
	_, items := s["items"].(map[string]any)
	required, listed := s["required"].([]any)
	enum, _ := s["enum"].([]any)
	switch {
	case s["type"] == "object" && !described && (at == "" || !open):
		return fmt.Sprintf("In context=(%s), object schema missing properties", at)
	case isA("array") && !items:
		return fmt.Sprintf("In context=(%s), array schema missing items", at)
	case s["required"] != nil && !listed:
		return fmt.Sprintf("In context=(%s), %v is not of type 'array'", at, s["required"])
	case s["enum"] != nil && len(enum) == 0:
		return fmt.Sprintf("In context=(%s), [] should be non-empty", at)
	case s["$ref"] != nil:
		return fmt.Sprintf("In context=(%s), reference to undefined schema", at)
	}
	for _, name := range required {
		if name, _ := name.(string); described && properties[name] == nil {
			return fmt.Sprintf("required[%s]: property is not defined", name)
		}
	}
	for key, v := range s {
		if v == nil && key != "default" && key != "const" {
			return fmt.Sprintf("In context=(%s), None is not valid under %s", at, key)
		}
		if _, ok := v.(bool); ok && (key == "exclusiveMinimum" || key == "exclusiveMaximum") {
			return fmt.Sprintf("JSON schema is invalid. It must match JSON Schema draft 2020-12: %s", key)
		}
	}
	for name, v := range properties {
		if bad := checkBelow(v, at+", "+name, open); bad != "" {
			return bad
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		all, _ := s[key].([]any)
		if s[key] != nil && len(all) == 0 {
			return fmt.Sprintf("In context=(%s), [] should be non-empty", at)
		}
		for _, v := range all {
			if bad := checkBelow(v, at+", "+key, open); bad != "" {
				return bad
			}
		}
	}
	if items {
		return checkBelow(s["items"], at+", items", open)
	}
	return ""
}

func checkBelow(v any, at string, open bool) string {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprintf("In context=(%s), %v is not of type 'object'", at, v)
	}
	return checkSchema(s, at, open)
}
