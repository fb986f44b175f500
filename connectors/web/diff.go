package web

import (
	"slices"
	"strings"

	"parley/core/answer"
)

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
	if i == len(now.Segments) { // what is missing was withdrawn
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
