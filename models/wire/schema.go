package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

const (
	maxSchemaDepth  = 32       // levels of a schema; deeper levels are left open
	maxSchemaInline = 64 << 10 // bytes of definitions that are copied to where a schema refers to them
	maxAlternatives = 16       // schemas of one property, from alternatives
)

// Schema returns the schema of a tool's parameters in the part of JSON schema that all providers accept, because a
// strict one refuses every request with a tool that it doesn't like. The schema of the result is always one of an
// object with properties; it has no references, no alternatives at its top, and no keywords without a value. It can
// accept more than raw does, never less: the runtime checks calls against raw. A schema that needs no change is
// returned as it is, with its keys in their order.
func Schema(raw json.RawMessage) json.RawMessage {
	open := json.RawMessage(`{"type":"object","properties":{}}`)
	raw = bytes.TrimSpace(raw)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // keeps integers beyond 2^53 exact
	var from map[string]any
	if d.Decode(&from) != nil || from == nil || d.More() {
		return open
	}
	s := schemas{document: from, room: maxSchemaInline, within: map[string]bool{}}
	made := s.top()
	if made == nil {
		return open
	}
	if reflect.DeepEqual(made, from) {
		return raw
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if e.Encode(made) != nil {
		return open
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// schemas copies the schemas of one document. It doesn't change its input.
type schemas struct {
	document map[string]any
	room     int             // bytes of definitions that can still be copied
	within   map[string]bool // the references that are being copied: one that refers to itself has no end
}

// top returns the schema of the document, or nil if it is not one of an object.
func (s *schemas) top() map[string]any {
	out := s.schema(s.document, 0)
	switch kind := out["type"].(type) {
	case nil:
	case string:
		if kind != "object" {
			return nil
		}
	case []any:
		if !slices.Contains(kind, any("object")) {
			return nil
		}
	default:
		return nil
	}
	out["type"] = "object"
	flatten(out, 0)
	for _, key := range []string{"not", "enum", "const", "if", "then", "else", "dependentSchemas"} {
		delete(out, key)
	}
	if out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	describe(out)
	return out
}

// schema returns a copy of from.
func (s *schemas) schema(from map[string]any, depth int) map[string]any {
	from, done := s.follow(from)
	defer done()
	out := map[string]any{}
	for key, v := range from {
		if v = s.keyword(key, v, depth+1); v != nil || (key == "default" || key == "const") && from[key] == nil {
			out[key] = v
		}
	}
	exclusive(out)
	if is(out, "array") && out["items"] == nil {
		out["items"] = map[string]any{}
	}
	if is(out, "object") && out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	if out["properties"] != nil {
		describe(out)
	}
	return out
}

// follow returns the schema that from refers to, with what else from says. done must be called after it was copied.
// A part that can't be copied is left open: a definition elsewhere or within itself, or one too much.
func (s *schemas) follow(from map[string]any) (to map[string]any, done func()) {
	var refs []string
	done = func() {
		for _, ref := range refs {
			delete(s.within, ref)
		}
	}
	for {
		ref, ok := from["$ref"].(string)
		if !ok {
			return from, done
		}
		rest := maps.Clone(from)
		delete(rest, "$ref")
		target := s.find(ref)
		size, _ := json.Marshal(target) // it was decoded before
		if s.room -= len(size); target == nil || s.within[ref] || s.room < 0 {
			return rest, done
		}
		s.within[ref], refs = true, append(refs, ref)
		from = maps.Clone(target)
		maps.Copy(from, rest)
	}
}

// find returns the schema within the document that ref points to, or nil.
func (s *schemas) find(ref string) map[string]any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := s.document
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		at, _ = at[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)].(map[string]any)
	}
	return at
}

// keyword returns a copy of the value of a keyword, or nil to leave it out.
func (s *schemas) keyword(key string, v any, depth int) any {
	switch key {
	case "$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "$ref":
		return nil
	case "default", "const", "examples":
		return v
	case "properties", "patternProperties", "dependentSchemas":
		return s.named(v, depth)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return s.listed(v, depth)
	case "items":
		if list, ok := v.([]any); ok { // one for each place, as in older drafts
			return alternatives(s.list(list, depth))
		}
		return s.below(v, depth)
	case "additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems":
		if _, ok := v.(bool); ok {
			return v
		}
		return s.below(v, depth)
	case "not", "if", "then", "else", "contains", "propertyNames":
		return s.below(v, depth)
	case "required":
		return names(v)
	case "enum", "type":
		if list, ok := v.([]any); ok && len(list) == 0 {
			return nil
		}
	}
	return v
}

// below returns a copy of a schema, which can be true or false; nil for null.
func (s *schemas) below(v any, depth int) any {
	fields, ok := v.(map[string]any)
	switch {
	case v == nil:
		return nil
	case !ok || depth > maxSchemaDepth:
		return map[string]any{}
	}
	return s.schema(fields, depth)
}

// named returns a copy of schemas by name.
func (s *schemas) named(v any, depth int) any {
	from, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	out := map[string]any{}
	for name, v := range from {
		if v = s.below(v, depth); v == nil {
			v = map[string]any{}
		}
		out[name] = v
	}
	return out
}

// listed returns a copy of a list of schemas, or nil if it has none.
func (s *schemas) listed(v any, depth int) any {
	from, _ := v.([]any)
	if out := s.list(from, depth); len(out) > 0 {
		return out
	}
	return nil
}

func (s *schemas) list(from []any, depth int) (out []any) {
	for _, v := range from {
		if v = s.below(v, depth); v != nil {
			out = append(out, v)
		}
	}
	return out
}

// names returns the strings of a list, or nil if it is none. Older drafts have true and false here.
func names(v any) any {
	from, ok := v.([]any)
	if !ok {
		return nil
	}
	out := []any{}
	for _, v := range from {
		if name, ok := v.(string); ok && !slices.Contains(out, any(name)) {
			out = append(out, name)
		}
	}
	return out
}

// is reports whether a schema has that type, or among others.
func is(schema map[string]any, kind string) bool {
	list, _ := schema["type"].([]any)
	return schema["type"] == kind || slices.Contains(list, any(kind))
}

// exclusive writes limits as newer drafts do: the exclusive one is a number, not a property of the other one.
func exclusive(schema map[string]any) {
	for key, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		excludes, ok := schema[key].(bool)
		if !ok {
			continue
		}
		delete(schema, key)
		if excludes && schema[limit] != nil {
			schema[key] = schema[limit]
			delete(schema, limit)
		}
	}
}

// describe adds the required properties that a schema doesn't describe.
func describe(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if name, ok := name.(string); ok && properties != nil && properties[name] == nil {
			properties[name] = map[string]any{}
		}
	}
}

// flatten makes the parts and the alternatives of a schema part of it: all properties of each can be used, and those are
// required that all alternatives require.
func flatten(schema map[string]any, depth int) {
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		delete(schema, key)
		var required []any // by all so far
		for i, v := range list {
			branch, _ := v.(map[string]any)
			if branch == nil || depth > maxSchemaDepth {
				required = nil
				break
			}
			flatten(branch, depth+1)
			join(schema, branch)
			needs, _ := branch["required"].([]any)
			switch {
			case i == 0:
				required = slices.Clone(needs)
			case key == "allOf":
				required = append(required, needs...)
			default:
				required = slices.DeleteFunc(required, func(name any) bool { return !slices.Contains(needs, name) })
			}
		}
		if before, _ := schema["required"].([]any); len(required) > 0 {
			schema["required"] = names(append(slices.Clone(before), required...))
		}
	}
}

// join adds the properties of branch to those of schema. One that both have can be either.
func join(schema, branch map[string]any) {
	more, _ := branch["properties"].(map[string]any)
	if len(more) == 0 {
		return
	}
	all, _ := schema["properties"].(map[string]any)
	if all == nil {
		all = map[string]any{}
		schema["properties"] = all
	}
	for name, v := range more {
		if all[name] == nil {
			all[name] = v
			continue
		}
		all[name] = alternatives([]any{all[name], v})
	}
}

// alternatives returns a schema that accepts the values that any schema of list accepts.
func alternatives(list []any) map[string]any {
	var distinct []any
	for _, v := range list {
		before, _ := v.(map[string]any)
		inner, ok := before["anyOf"].([]any)
		if !ok || len(before) > 1 {
			inner = []any{v}
		}
		for _, v := range inner {
			if !slices.ContainsFunc(distinct, func(d any) bool { return reflect.DeepEqual(d, v) }) {
				distinct = append(distinct, v)
			}
		}
	}
	if len(distinct) == 0 || len(distinct) > maxAlternatives {
		return map[string]any{}
	}
	if one, ok := distinct[0].(map[string]any); ok && len(distinct) == 1 {
		return one
	}
	return map[string]any{"anyOf": distinct}
}
