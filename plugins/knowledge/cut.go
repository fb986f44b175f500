package knowledge

import (
	"strings"

	"parley/core/chat"
)

// longest is the approximate maximum length of a piece, in bytes.
const longest = 900

// piece is a part of a document.
type piece struct {
	source  string // the name of its document
	heading string // the headings above it, from the outermost
	text    string
	key     chat.PieceKey
}

// from returns the source of the piece as text.
func (p piece) from() string {
	if p.source != "" && p.heading != "" {
		return p.source + ", " + p.heading
	}
	return p.source + p.heading
}

// meaning returns the text to embed.
func (p piece) meaning() string { return strings.TrimSpace(p.heading + "\n" + p.text) }

// cut cuts a document at its Markdown headings, and the text between them into passages. Each piece carries its
// headings, because often only these name the subject of a passage.
func cut(d Document) (all []piece) {
	var above [6]string
	var body strings.Builder
	flush := func() {
		var path []string
		for _, h := range above {
			if h != "" {
				path = append(path, h)
			}
		}
		for _, p := range passages(body.String(), longest) {
			all = append(all, piece{source: d.Name, heading: strings.Join(path, " › "), text: p})
		}
		body.Reset()
	}
	fence := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(d.Text, "\r\n", "\n"), "\n") {
		fence = fenced(fence, line)
		level, heading := headingOf(line)
		if level == 0 || fence != "" {
			body.WriteString(line + "\n")
			continue
		}
		flush()
		above[level-1] = heading
		clear(above[level:])
	}
	flush()
	if len(all) == 0 && strings.Join(above[:], "") != "" { // headings only
		all = append(all, piece{source: d.Name, text: strings.TrimSpace(d.Text)[:min(len(strings.TrimSpace(d.Text)), longest)]})
	}
	return all
}

// fenced returns the fence of the code block that is open after a line; empty outside of one.
func fenced(fence, line string) string {
	line = strings.TrimSpace(line)
	switch {
	case fence != "" && strings.HasPrefix(line, fence):
		return ""
	case fence == "" && strings.HasPrefix(line, "```"):
		return "```"
	case fence == "" && strings.HasPrefix(line, "~~~"):
		return "~~~"
	}
	return fence
}

// headingOf returns the level of a Markdown heading, and its text; 0 for any other line.
func headingOf(line string) (level int, heading string) {
	rest := strings.TrimLeft(line, "#")
	level = len(line) - len(rest)
	heading = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(rest), "#"))
	if level > 6 || level == 0 || heading == "" || rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	return level, heading[:min(len(heading), 200)]
}

// passages splits a text at blank lines into passages of at most size bytes. It splits a longer paragraph at spaces,
// and a longer word between characters.
func passages(text string, size int) (all []string) {
	var b strings.Builder
	flush := func() {
		if s := strings.TrimSpace(b.String()); s != "" {
			all = append(all, s)
		}
		b.Reset()
	}
	for _, paragraph := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		for _, word := range strings.SplitAfter(paragraph, " ") {
			for len(word) > size { // a text without spaces
				cut := strings.LastIndexFunc(word[:size+1], func(r rune) bool { return r >= ' ' })
				b.WriteString(word[:max(cut, 1)])
				word = word[max(cut, 1):]
				flush()
			}
			if b.Len()+len(word) > size {
				flush()
			}
			b.WriteString(word)
		}
		b.WriteString("\n\n")
		if b.Len() > size/2 {
			flush()
		}
	}
	flush()
	return all
}
