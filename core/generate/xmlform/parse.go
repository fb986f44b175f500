package xmlform

import (
	"encoding/json"
	"strings"
)

// parseList returns names that are separated by commas, lines or tags. Models add bullets, numbers, brackets and
// quotes, and write "none" for an empty list.
func parseList(raw string) (names []string) {
	raw = untagged(raw)
	for _, part := range strings.FieldsFunc(raw, func(r rune) bool { return strings.ContainsRune(",;\n\r[]\"'`", r) }) {
		name := strings.TrimLeft(strings.TrimSpace(part), "-*•. \t0123456789")
		switch strings.ToLower(name) {
		case "", "none", "null", "n/a":
			continue
		}
		names = append(names, name)
	}
	return names
}

// untagged puts a comma in the place of each tag.
func untagged(raw string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(raw, "<")
		b.WriteString(before)
		_, after, closed := strings.Cut(rest, ">")
		if !ok || !closed {
			return b.String()
		}
		b.WriteByte(',')
		raw = after
	}
}

// parseActions reads the content of <actions>: a list of names, or an <action> for each with its parameters in JSON. It
// stops at an incomplete <action>, and counts that and the rest in odd and lost: the parameters of a call must never be
// a guess.
func parseActions(raw string) (calls []Call, odd, lost int) {
	for raw != "" {
		at := indexTag(raw, actionTag)
		if at < 0 {
			at = len(raw)
		}
		for _, name := range actionNames(raw[:at]) {
			calls = append(calls, Call{Name: name})
		}
		raw = raw[at:]
		if raw == "" {
			break
		}
		head, body, rest, ok := element(raw, actionTag)
		c, whole := parseAction(head, body)
		if !ok || !whole {
			return calls, odd + 1, lost + len(raw) - len(rest)
		}
		if raw = rest; c.Name != "" {
			calls = append(calls, c)
		}
	}
	return calls, odd, lost
}

// actionNames returns the names of a list, including NONE.
func actionNames(raw string) (names []string) {
	for _, part := range strings.FieldsFunc(raw, func(r rune) bool { return strings.ContainsRune(",;\n\r[]\"'`", r) }) {
		if name := strings.TrimLeft(strings.TrimSpace(part), "-*•. \t0123456789"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// parseAction reads <action name="…">parameters</action>, with the name in a tag of its own or alone. It returns false
// if an element in it is not closed.
func parseAction(head, body string) (Call, bool) {
	c := Call{Name: attribute(head, "name")}
	if c.Name == "" {
		c.Name = attribute(head, "type")
	}
	// Parameters in an element of their own come first, because their JSON may contain a <name>.
	for _, tag := range []string{paramsField, "parameters"} {
		if at := indexTag(body, tag); at >= 0 {
			_, inner, rest, ok := element(body[at:], tag)
			if !ok {
				return c, false
			}
			c.Parameters = strings.TrimSpace(inner)
			body = body[:at] + rest
		}
	}
	if at := indexTag(body, "name"); at >= 0 && c.Name == "" {
		_, inner, rest, ok := element(body[at:], "name")
		if !ok {
			return c, false
		}
		c.Name = strings.TrimSpace(inner)
		body = body[:at] + rest
	}
	// The rest is either the parameters without an element, or the name alone.
	switch body = strings.TrimSpace(body); {
	case strings.HasPrefix(body, "{") && c.Parameters == "":
		c.Parameters = body
	case c.Name == "":
		c.Name = body
	}
	return c, c.Name != "" || body == "" && c.Parameters == ""
}

// indexTag returns where a tag of this name opens, outside of strings of JSON, or -1.
func indexTag(raw, name string) int {
	var o object
	for i := range len(raw) {
		if raw[i] == '<' && !o.str && isTag(raw[i+1:], name) {
			return i
		}
		o.feed(raw[i])
	}
	return -1
}

// isTag reports whether rest, the input after a "<", begins with a tag of this name.
func isTag(rest, name string) bool {
	if len(rest) <= len(name) || !strings.EqualFold(rest[:len(name)], name) {
		return false
	}
	return strings.IndexByte(" \t\n>/=", rest[len(name)]) >= 0
}

// element separates the element at the beginning of raw from the rest. ok is false if it has no end.
func element(raw, name string) (head, body, rest string, ok bool) {
	end := strings.IndexByte(raw, '>')
	if end < 0 {
		return raw, "", "", false
	}
	head, body = raw[:end+1], raw[end+1:]
	if strings.HasSuffix(head, "/>") {
		return head, "", body, true
	}
	var o object
	for i := range len(body) {
		if body[i] == '<' && !o.str && strings.HasPrefix(body[i+1:], "/") && isTag(body[i+2:], name) {
			_, rest, _ := strings.Cut(body[i:], ">")
			return head, body[:i], rest, true
		}
		o.feed(body[i])
	}
	return head, body, "", false
}

// attach assigns parameters that are written next to the actions to the one they are for: by its name, or because there
// is only one. It returns false if they can't be assigned.
func attach(calls []Call, raw string) bool {
	raw = strings.TrimSpace(raw)
	var by map[string]json.RawMessage
	none := raw == "" || json.Unmarshal([]byte(raw), &by) == nil && len(by) == 0
	if none && !strings.HasPrefix(raw, "{") {
		return true
	}
	found := false
	var acts []*Call
	for i := range calls {
		c := &calls[i]
		if p, ok := by[c.Name]; ok && c.Parameters == "" && strings.HasPrefix(string(p), "{") {
			c.Parameters, found = string(p), true
		}
		if !strings.EqualFold(c.Name, "REPLY") {
			acts = append(acts, c)
		}
	}
	if !found && len(acts) == 1 && acts[0].Parameters == "" {
		acts[0].Parameters, found = raw, true
	}
	return found || none
}

// parseWritten reads a call that was written as text between tags like t.
func parseWritten(t tag, raw string) ([]Call, bool) {
	body := raw[len(t.raw):]
	if at := strings.LastIndex(body, "</"); at >= 0 && isTag(body[at+2:], t.name) {
		body = body[:at]
	}
	body = strings.TrimSpace(body)
	switch {
	case t.name == actionsField:
		calls, odd, _ := parseActions(body)
		return calls, odd == 0
	case t.name == functionTag:
		parameters, ok := functionParameters(body)
		return []Call{{Name: t.value, Parameters: parameters}}, ok
	case strings.HasPrefix(body, "<"):
		head, inner, _, ok := element(body, functionTag)
		if !ok {
			return nil, false
		}
		_, name, _ := strings.Cut(strings.TrimRight(head, "/> "), "=")
		parameters, ok := functionParameters(strings.TrimSpace(inner))
		return []Call{{Name: strings.Trim(name, `"' `), Parameters: parameters}}, ok
	}
	return parseJSONCalls(body)
}

// functionParameters returns the parameters as JSON: they are an object, or <parameter=name>value</parameter> for each.
// A value that is no JSON is a string.
func functionParameters(body string) (string, bool) {
	if !strings.HasPrefix(body, "<") {
		return body, body == "" || json.Valid([]byte(body))
	}
	values := map[string]json.RawMessage{}
	for body = strings.TrimSpace(body); body != ""; body = strings.TrimSpace(body) {
		if !strings.HasPrefix(body, "<"+parameterTag+"=") {
			return "", false
		}
		head, inner, rest, ok := element(body, parameterTag)
		if !ok {
			return "", false
		}
		name := strings.Trim(strings.TrimSuffix(head, ">")[len("<"+parameterTag+"="):], `"' `)
		value := json.RawMessage(strings.TrimSpace(inner))
		if !json.Valid(value) {
			value, _ = json.Marshal(strings.Trim(inner, "\n")) // a string always works
		}
		values[name], body = value, rest
	}
	raw, err := json.Marshal(values)
	return string(raw), err == nil
}

// parseJSONCalls reads {"name":…,"arguments":{…}}, or a list of such. If one of them is none, none counts.
func parseJSONCalls(raw string) (calls []Call, ok bool) {
	raw = strings.TrimSpace(raw)
	list := []json.RawMessage{json.RawMessage(raw)}
	if strings.HasPrefix(raw, "[") {
		list = nil
		if json.Unmarshal([]byte(raw), &list) != nil {
			return nil, false
		}
	}
	for _, one := range list {
		c, ok := parseJSONCall(one)
		if !ok {
			return nil, false
		}
		calls = append(calls, c)
	}
	return calls, len(calls) > 0
}

// parseJSONCall reads one call. A name alone is not enough: data can have that too.
func parseJSONCall(raw json.RawMessage) (c Call, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return c, false
	}
	for _, key := range nameKeys() {
		if c.Name == "" {
			_ = json.Unmarshal(fields[key], &c.Name) // another kind of value is no name
		}
	}
	for _, key := range []string{"arguments", "parameters", "params", "input"} {
		value, there := fields[key]
		if !there {
			continue
		}
		text := ""
		if json.Unmarshal(value, &text) == nil && text != "" { // some quote the object
			value = json.RawMessage(text)
		}
		c.Parameters, ok = string(value), true
	}
	return c, ok && c.Name != ""
}

// nameKeys returns the keys that models use for the name of the called action.
func nameKeys() []string { return []string{"name", "tool", "tool_name", "action", "function"} }

// unfenced returns raw without the fence of a block of code around it.
func unfenced(raw string) string {
	raw = strings.Trim(strings.TrimSpace(raw), "`")
	if at := strings.IndexByte(raw, '{'); at >= 0 {
		raw = raw[at:]
	}
	return raw
}

// bareName returns the name at the beginning of a call in JSON, which is complete, still growing, or never coming. The
// name must be the first member, so that ordinary JSON is shown at once.
func bareName(raw string) (string, state) {
	if fence := strings.TrimLeft(raw, "`"); fence != raw {
		if n := len(raw) - len(fence); n != 3 {
			if n < 3 && fence == "" {
				return "", growing
			}
			return "", never
		}
		info, rest, ok := strings.Cut(fence, "\n")
		if !strings.HasPrefix("json", strings.TrimSpace(info)) {
			return "", never
		} else if !ok {
			return "", growing
		}
		raw = rest
	}
	raw = strings.TrimLeft(raw, " \t\r\n")
	rest, ok := strings.CutPrefix(raw, "{")
	if !ok {
		return "", stillGrowing(raw == "")
	}
	rest = strings.TrimLeft(rest, " \t\r\n")
	for _, key := range nameKeys() {
		quoted := `"` + key + `"`
		if strings.HasPrefix(quoted, rest) {
			return "", growing
		}
		if value, ok := strings.CutPrefix(rest, quoted); ok {
			return bareValue(value)
		}
	}
	return "", never
}

// bareValue is bareName for the input after the key.
func bareValue(raw string) (string, state) {
	raw = strings.TrimLeft(raw, " \t\r\n")
	rest, ok := strings.CutPrefix(raw, ":")
	if !ok {
		return "", stillGrowing(raw == "")
	}
	rest = strings.TrimLeft(rest, " \t\r\n")
	value, ok := strings.CutPrefix(rest, `"`)
	if !ok {
		return "", stillGrowing(rest == "")
	}
	name, _, ok := strings.Cut(value, `"`)
	if !ok {
		return "", growing
	}
	return name, complete
}

func stillGrowing(is bool) state {
	if is {
		return growing
	}
	return never
}
