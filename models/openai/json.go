package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// space skips white space.
func (s *scanner) space() {
	for s.at < len(s.in) && (s.in[s.at] == ' ' || s.in[s.at] == '\n' || s.in[s.at] == '\t' || s.in[s.at] == '\r') {
		s.at++
	}
}

// take skips b, after white space, and reports whether it was there.
func (s *scanner) take(b byte) bool {
	s.space()
	there := !s.failed && s.at < len(s.in) && s.in[s.at] == b
	if there {
		s.at++
	}
	return there
}

// need skips b, after white space, and fails if it is not there.
func (s *scanner) need(b byte) { s.failed = !s.take(b) || s.failed }

// null skips null, after white space, and reports whether it was there.
func (s *scanner) null() bool {
	s.space()
	there := !s.failed && bytes.HasPrefix(s.in[s.at:], []byte("null"))
	if there {
		s.at += len("null")
	}
	return there
}

// object reads an object. It calls member for each key, and member must read the value. A key with escapes fails, as
// comparing it would need decoding.
func (s *scanner) object(member func(key []byte)) {
	s.need('{')
	if s.take('}') {
		return
	}
	for !s.failed {
		s.need('"')
		begin := s.at
		escaped := s.skipString()
		if s.failed = s.failed || escaped; s.failed {
			return
		}
		key := s.in[begin : s.at-1]
		s.need(':')
		member(key)
		if s.take('}') {
			return
		}
		s.need(',')
	}
}

// text reads a string; null is "". Only strings with escapes are decoded by encoding/json.
func (s *scanner) text() string {
	if s.null() {
		return ""
	}
	s.need('"')
	begin := s.at
	escaped := s.skipString()
	switch {
	case s.failed:
		return ""
	case !escaped:
		raw := s.in[begin : s.at-1]
		s.failed = !utf8.Valid(raw)
		return string(raw)
	}
	var text string
	err := json.Unmarshal(s.in[begin-1:s.at], &text)
	s.failed = err != nil || strings.ContainsRune(text, utf8.RuneError) // half of a surrogate pair, or invalid UTF-8: decodeAny decides
	return text
}

// skipString skips the rest of a string, and reports whether it has escapes. They are not checked here.
func (s *scanner) skipString() (escaped bool) {
	for ; !s.failed && s.at < len(s.in); s.at++ {
		switch b := s.in[s.at]; {
		case b == '"':
			s.at++
			return escaped
		case b == '\\':
			escaped = true
			s.at++
		case b < ' ':
			s.failed = true
		}
	}
	s.failed, s.at = true, len(s.in)
	return escaped
}

// count reads a number without sign, fraction and exponent. Up to 15 digits can't overflow.
func (s *scanner) count() (n int64) {
	raw := s.value(0)
	for _, b := range raw {
		s.failed = s.failed || b < '0' || b > '9' || len(raw) > 15
		n = 10*n + int64(b-'0')
	}
	return n
}

// value skips a value, which is nested depth deep, and returns its JSON.
func (s *scanner) value(depth int) []byte {
	s.space()
	if s.at == len(s.in) || depth > maxNesting {
		s.failed = true
	}
	if s.failed {
		return nil
	}
	begin := s.at
	switch s.in[s.at] {
	case '{':
		s.object(func([]byte) { s.value(depth + 1) })
	case '[':
		s.list(func() { s.value(depth + 1) })
	case '"':
		s.at++
		if s.skipString() { // which checks the escapes
			s.at = begin
			s.text()
		}
	default:
		s.scalar()
	}
	return s.in[begin:s.at]
}

// list reads an array. It calls element for each value, and element must read it.
func (s *scanner) list(element func()) {
	s.need('[')
	if s.take(']') {
		return
	}
	for !s.failed {
		element()
		if s.take(']') {
			return
		}
		s.need(',')
	}
}

// scalar skips a number, true, false or null.
func (s *scanner) scalar() {
	begin := s.at
	for s.at < len(s.in) && !strings.ContainsRune(",]} \n\t\r", rune(s.in[s.at])) {
		s.at++
	}
	s.failed = !json.Valid(s.in[begin:s.at])
}
