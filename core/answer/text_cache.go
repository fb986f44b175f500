package answer

import "strings"

// TextCache returns the text of the successive views of one answer, each at the cost of the text added since the
// previous one. The zero TextCache is ready for use. It is not safe for concurrent use.
type TextCache struct {
	texts []string // of the nonempty segments
	all   strings.Builder
}

// Text returns v.Text().
func (w *TextCache) Text(v View) string {
	if len(v.Segments) == 1 {
		return v.Segments[0].Text
	}
	n := 0
	for _, s := range v.Segments {
		if s.Text == "" {
			continue
		}
		if !w.take(n, s.Text) {
			return w.reset(v)
		}
		n++
	}
	if n < len(w.texts) {
		return w.reset(v)
	}
	return w.all.String()
}

// take sets the nth text to text, if that only appends at the end.
func (w *TextCache) take(n int, text string) bool {
	switch {
	case n == len(w.texts):
		if n > 0 {
			w.all.WriteString(between)
		}
		w.all.WriteString(text)
		w.texts = append(w.texts, text)
	case w.texts[n] == text:
	case n == len(w.texts)-1 && strings.HasPrefix(text, w.texts[n]):
		w.all.WriteString(text[len(w.texts[n]):])
		w.texts[n] = text
	default:
		return false
	}
	return true
}

// reset starts again above the replaced text. Strings returned earlier stay valid.
func (w *TextCache) reset(v View) string {
	*w = TextCache{}
	for _, s := range v.Segments {
		if s.Text != "" {
			w.take(len(w.texts), s.Text)
		}
	}
	return w.all.String()
}
