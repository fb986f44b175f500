package telegram

import (
	"slices"

	"parley/progressive/markdown"
)

// lines returns text as a RichText, with its footnotes as references, or nil if nothing of it is visible.
func (w *richWriter) lines(text []markdown.Inline, depth int) any {
	out, shown := []any{}, false
	add := func(in []markdown.Inline) {
		more, seen := w.inlines(in, depth)
		out, shown = append(out, more...), shown || seen
	}
	for from := 0; from < len(text); {
		end := len(text)
		if n := slices.Index(text[from:], markdown.Inline(markdown.Break{})); n >= 0 {
			end = from + n + 1
		}
		line := text[from:end]
		if m := startOfNote(text, from, text[from]); m != nil && w.notes[m[1]] {
			rest := append([]markdown.Inline{line[0].(markdown.Text)[len(m[0]):]}, line[1:]...)
			if note, seen := w.inlines(rest, depth+1); seen {
				w.length += len(m[0])
				w.written[m[1]] = true
				out, shown = append(out, m[1]+". ", richBlock{"type": "reference", "name": m[1], "text": note}), true
			}
		} else {
			add(line)
		}
		from = end
	}
	switch {
	case !shown:
		return nil
	case len(out) == 1:
		return out[0]
	}
	return out
}

// inlines returns a list of RichText, and whether any of it is visible. Styles within too many others are left out.
func (w *richWriter) inlines(all []markdown.Inline, depth int) (out []any, shown bool) {
	if depth > mostLevels-3 { // a mark of a footnote takes two
		s := markdown.PlainText(markdown.Piece{Block: markdown.Paragraph{Text: all}})
		return []any{s}, w.text(s) != nil
	}
	add := func(v any, seen bool) {
		if v != nil {
			out, shown = append(out, v), shown || seen
		}
	}
	for _, in := range all {
		switch in := in.(type) {
		case markdown.Text:
			more, seen := w.marked(string(in))
			out, shown = append(out, more...), shown || seen
		case markdown.Break:
			w.length++
			add("\n", false)
		case markdown.Span:
			add(w.styled("code", []any{w.text(string(in))}, visible(string(in))))
		case markdown.Styled:
			text, seen := w.inlines(in.Text, depth+1)
			add(w.styled(richStyles[in.Style], text, seen))
		case markdown.Link:
			words, url := in.Shown(&w.dialect)
			text, seen := w.inlines(words, depth+1)
			if url == "" {
				out, shown = append(out, text...), shown || seen
				continue
			}
			if v, ok := w.styled("url", text, seen); ok {
				v.(richBlock)["url"] = url
				add(v, ok)
			}
		}
	}
	return out, shown
}

var richStyles = map[markdown.Kind]string{
	markdown.Strong: "bold", markdown.Emphasis: "italic", markdown.Strike: "strikethrough", markdown.Spoiler: "spoiler",
}

// styled returns text with a style, unless nothing of it is visible.
func (w *richWriter) styled(kind string, text []any, shown bool) (any, bool) {
	if !shown {
		return nil, false
	}
	if len(text) == 1 {
		return richBlock{"type": kind, "text": text[0]}, true
	}
	return richBlock{"type": kind, "text": text}, true
}

// marked returns words with the formulas and the marks of footnotes in them.
func (w *richWriter) marked(s string) (out []any, shown bool) {
	add := func(words string) {
		if words != "" {
			shown = w.text(words) != nil || shown
			out = append(out, words)
		}
	}
	at := 0
	for _, m := range noteMark.FindAllStringSubmatchIndex(s, -1) {
		var v richBlock
		if m[2] < 0 {
			v = w.formula(s[m[0]:m[1]], "mathematical_expression")
		} else if name := s[m[2]:m[3]]; w.notes[name] {
			w.length += len(name) + 3 // as in its mark, which is words until the note is complete
			v = richBlock{"type": "reference_link", "reference_name": name, "text": richBlock{"type": "superscript", "text": name}}
		}
		if v != nil {
			add(s[at:m[0]])
			out, shown, at = append(out, v), true, m[1]
		}
	}
	add(s[at:])
	return out, shown
}
