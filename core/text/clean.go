// Package text cuts, cleans and quotes text, and estimates its number of tokens. All external text passes through it
// before it is stored, shown or put into a prompt. All functions are pure.
package text

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns text in a form that every store, platform and JSON reader accepts: valid UTF-8 without NUL. A message
// that can't be stored would be redelivered indefinitely.
func Clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// Visible returns [Clean] text without characters that machines read and human readers can't see: controls, tag
// characters outside flags, and direction overrides. Such characters could hide instructions to the model. Joiners
// stay, because Persian, Hindi and emoji need them.
func Visible(s string) string {
	s = Clean(s)
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if r == blackFlag {
			b.WriteString(s[i : i+flag(s[i:])])
		} else if !hidden(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

const (
	blackFlag = '\U0001F3F4'
	endOfFlag = '\U000E007F'
)

func hidden(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return false
	case unicode.Is(unicode.Cc, r), r >= '\U000E0000' && r <= '\U000E007F':
		return true
	}
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// joins reports whether r, a rune that [Visible] keeps, is invisible by itself but part of words, emoji or flags.
func joins(r rune) bool { return r == '\u200C' || r == '\u200D' || r > '\U000E0000' }

// flag returns the length of the flag emoji at the beginning of s: the black flag, or a region's, spelled in up to six
// tags.
func flag(s string) int {
	n, tags := utf8.RuneLen(blackFlag), 0
	for i, r := range s[n:] {
		switch {
		case r == endOfFlag && tags > 0:
			return n + i + utf8.RuneLen(r)
		case tags < 6 && (r >= '\U000E0030' && r <= '\U000E0039' || r >= '\U000E0061' && r <= '\U000E007A'):
			tags++
		default:
			return n
		}
	}
	return n
}

// CleanAll returns v with [Clean] applied to all its strings, at any depth: in exported fields, elements, map values
// and behind pointers. It is for values that arrive from outside, before any part of them is stored. v is not modified;
// the parts that need no change are shared. Byte slices and unexported fields stay unchanged.
func CleanAll[T any](v T) T {
	clean, changed := cleaned(reflect.ValueOf(&v).Elem())
	if !changed {
		return v
	}
	return clean.Interface().(T)
}

// cleaned returns v, or a clean copy, and whether it is a copy.
func cleaned(v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		s := Clean(v.String())
		if len(s) == v.Len() && s == v.String() {
			return v, false
		}
		clean := reflect.New(v.Type()).Elem()
		clean.SetString(s)
		return clean, true
	case reflect.Struct:
		return cleanedParts(v, v.NumField(), reflect.Value.Field)
	case reflect.Array:
		return cleanedParts(v, v.Len(), reflect.Value.Index)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v, false
		}
		return cleanedParts(v, v.Len(), reflect.Value.Index)
	case reflect.Map:
		return cleanedMap(v)
	case reflect.Pointer, reflect.Interface:
		return cleanedTarget(v)
	}
	return v, false
}

// cleanedParts is cleaned for a value of n parts.
func cleanedParts(v reflect.Value, n int, part func(reflect.Value, int) reflect.Value) (reflect.Value, bool) {
	out, changed := v, false
	for i := range n {
		p := part(v, i)
		if !p.CanInterface() {
			continue // unexported
		}
		clean, is := cleaned(p)
		if !is {
			continue
		}
		if !changed {
			out, changed = copied(v), true
		}
		part(out, i).Set(clean)
	}
	return out, changed
}

// copied returns a copy of v that can be set.
func copied(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	if v.Kind() == reflect.Slice {
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		reflect.Copy(out, v)
	} else {
		out.Set(v)
	}
	return out
}

// cleanedMap is cleaned for a map. Its keys stay: two could become one.
func cleanedMap(v reflect.Value) (reflect.Value, bool) {
	out, changed := v, false
	for _, key := range v.MapKeys() {
		clean, is := cleaned(v.MapIndex(key))
		if !is {
			continue
		}
		if !changed {
			out, changed = reflect.MakeMapWithSize(v.Type(), v.Len()), true
			for _, k := range v.MapKeys() {
				out.SetMapIndex(k, v.MapIndex(k))
			}
		}
		out.SetMapIndex(key, clean)
	}
	return out, changed
}

// cleanedTarget is cleaned for the target of a pointer or an interface.
func cleanedTarget(v reflect.Value) (reflect.Value, bool) {
	if v.IsNil() {
		return v, false
	}
	clean, changed := cleaned(v.Elem())
	if !changed {
		return v, false
	}
	out := reflect.New(v.Type()).Elem()
	if v.Kind() == reflect.Interface {
		out.Set(clean)
	} else {
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(clean)
	}
	return out, true
}

// CleanJSON returns JSON whose strings decode to [Clean] text: it has no escaped NUL (\u0000), and no NUL or invalid
// UTF-8. It changes nothing else, and works on truncated JSON.
func CleanJSON(raw json.RawMessage) json.RawMessage {
	if clean := Clean(string(raw)); clean != string(raw) {
		raw = json.RawMessage(clean)
	}
	if !bytes.Contains(raw, []byte(`\u0000`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out, i = append(out, raw[i]), i+1
			continue
		}
		if bytes.HasPrefix(raw[i:], []byte(`\u0000`)) {
			i += len(`\u0000`)
			continue
		}
		n := min(2, len(raw)-i) // an escaped backslash does not begin another escape
		out, i = append(out, raw[i:i+n]...), i+n
	}
	return out
}
