package web

import (
	"encoding/json"
	"unicode/utf8"
)

// append appends f's JSON to b. Frames of text, which are nearly all, are not encoded by reflection, which would take
// most of the time of a stream. Their JSON is the same as that of encoding/json, byte for byte.
func (f *frame) append(b []byte) ([]byte, error) {
	if f.Type != "token" {
		encoded, err := json.Marshal(f)
		return append(b, encoded...), err
	}
	b = append(b, `{"type":"token"`...)
	if f.Text != nil {
		b = appendString(append(b, `,"text":`...), *f.Text)
	}
	if f.FullText != nil {
		b = appendString(append(b, `,"fullText":`...), *f.FullText)
	}
	return append(b, '}'), nil
}

// appendString appends the JSON of s to b. The characters of most texts are copied as they are; <, > and & are escaped
// as encoding/json does, and a text that contains one of the rarer cases is left to it.
func appendString(b []byte, s string) []byte {
	begin := len(b)
	b = append(b, '"')
	from := 0 // of what is not appended yet
	for i := 0; i < len(s); {
		short := byte(0)
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError || r == '\u2028' || r == '\u2029' {
				return appendOdd(b[:begin], s)
			}
			i += n
			continue
		case c == '"' || c == '\\':
			short = c
		case c == '\n':
			short = 'n'
		case c == '\t':
			short = 't'
		case c < ' ' || c == '<' || c == '>' || c == '&':
			return appendOdd(b[:begin], s)
		}
		i++
		if short != 0 {
			b = append(append(b, s[from:i-1]...), '\\', short)
			from = i
		}
	}
	return append(append(b, s[from:]...), '"')
}

// appendOdd is appendString for characters that are escaped by number.
func appendOdd(b []byte, s string) []byte {
	encoded, _ := json.Marshal(s) // never fails for a string
	return append(b, encoded...)
}
