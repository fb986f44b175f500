package web

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/core/answer"
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
	from := 0 // of the part that is not appended yet
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

// diff returns the text added at the end between two views of one answer, or reports that something earlier changed, so
// that the whole text must be sent. It visits each segment once, and copies only the added text: it runs for each frame
// of each reader.
//
// It relies on how answers change: the text of a model's step only grows, a call's text is replaced as a whole, and
// text can be withdrawn.
func diff(old, now answer.View) (added string, replaced bool) {
	i := 0
	for i < len(old.Segments) && i < len(now.Segments) && same(old.Segments[i], now.Segments[i]) {
		i++
	}
	if i == len(now.Segments) { // the missing segments were withdrawn
		return "", slices.ContainsFunc(old.Segments[i:], func(s answer.Segment) bool { return s.Text != "" })
	}
	above := false // there is text above the first change
	for _, s := range now.Segments[:i] {
		above = above || s.Text != ""
	}
	if i < len(old.Segments) && old.Segments[i].Text != "" {
		if !strings.HasPrefix(now.Segments[i].Text, old.Segments[i].Text) { // a call's text has changed
			return "", true
		}
		added = now.Segments[i].Text[len(old.Segments[i].Text):]
		above = true
		i++
	}
	for j := i; j < len(old.Segments); j++ {
		if old.Segments[j].Text != "" {
			return "", true // visible content below the change
		}
	}
	return added + textOf(now.Segments[i:], above), false
}

// textOf returns the text of segments below others, with text above or not.
func textOf(segments []answer.Segment, above bool) string {
	var b strings.Builder
	for _, s := range segments {
		if s.Text == "" {
			continue
		}
		if above {
			b.WriteString("\n\n")
		}
		b.WriteString(s.Text)
		above = true
	}
	return b.String()
}

// showed reports whether files of a call were visible.
func showed(v answer.View, call string) bool {
	return slices.ContainsFunc(v.Segments, func(s answer.Segment) bool { return s.Call == call && len(s.Files) > 0 })
}

// same compares the segments at one position of two views. Text of a model step only grows, so comparing lengths
// suffices.
func same(a, b answer.Segment) bool {
	if a.Call != "" {
		return a.Text == b.Text
	}
	return len(a.Text) == len(b.Text)
}
