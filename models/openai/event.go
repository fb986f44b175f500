package openai

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
)

// object is a JSON object of a server. Its methods read fields as leniently as servers write them: a field that is
// missing, or has another type than it should have, is empty.
type object map[string]json.RawMessage

// objectOf reads an object; nil if raw is none.
func objectOf(raw json.RawMessage) (o object) {
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// object returns a field that is an object, or nil.
func (o object) object(name string) object { return objectOf(o[name]) }

// list returns the objects of a field that is a list, or nil.
func (o object) list(name string) (all []object) {
	var raw []json.RawMessage
	if json.Unmarshal(o[name], &raw) != nil {
		return nil
	}
	for _, r := range raw {
		all = append(all, objectOf(r))
	}
	return all
}

// text returns a field as text. Other values are text as they are written: some servers send the parameters of a call as
// an object.
func (o object) text(name string) (s string) {
	raw := string(o[name])
	if raw == "" || json.Unmarshal([]byte(raw), &s) == nil { // of null, s is empty
		return s
	}
	return raw
}

// int returns a field as a whole number; a fraction is cut off.
func (o object) int(name string) int64 {
	n, _ := o.number(name)
	return n
}

// number is int, and reports whether the field is a number.
func (o object) number(name string) (int64, bool) {
	n, err := strconv.ParseFloat(o.text(name), 64)
	if err != nil {
		return 0, false
	}
	return int64(n), true
}

// inParts reports whether a field is not the string that it should be.
func (o object) inParts(name string) bool {
	return strings.HasPrefix(string(o[name]), "[") || strings.HasPrefix(string(o[name]), "{")
}

// without returns the fields that have a value, except those of the given names, or nil if there are none.
func (o object) without(names ...string) (all map[string]json.RawMessage) {
	rest := maps.Clone(o)
	for _, name := range names {
		delete(rest, name)
	}
	maps.DeleteFunc(rest, func(_ string, raw json.RawMessage) bool { return !present(string(raw)) || len(raw) > maxKept })
	if len(rest) == 0 {
		return nil
	}
	return rest
}
