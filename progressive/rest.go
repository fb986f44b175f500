package progressive

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"parley/core/llm"
	"parley/progressive/markdown"
)

// The file with the rest of an answer that is too long for its chat, and the line that says so.
const (
	restName    = "rest-of-answer.md"
	restLine    = "_(The rest of this answer is in the file " + restName + " below.)_"
	restRefused = "_(The rest of this answer is too long for this chat.)_"
)

// maxTexts returns how many messages of text an answer has that does not fit into MaxMessages. One is left for the file
// with the rest.
func (p *MarkdownMessages) maxTexts() int { return max(p.MaxMessages-1, 1) }

// limitGrowing returns the messages that are shown while a text grows. They are no more than those of a truncated answer, so
// that none has to be deleted at its end.
func (p *MarkdownMessages) limitGrowing(texts []Part) []Part {
	if p.MaxMessages > 0 && len(texts) > p.maxTexts() {
		return texts[:p.maxTexts()]
	}
	return texts
}

// truncate returns an ended answer as at most n messages, and the rest as a file.
func (p *MarkdownMessages) truncate(text string, n int, refused []string) (texts, files []Part) {
	line := restLine
	if slices.Contains(refused, restName) {
		line = restRefused
	}
	at, open := p.cutPosition(text, n, "\n\n"+line)
	texts, files = p.text(closeCode(text[:at], open)+"\n\n"+line, true, refused)
	rest := strings.TrimLeft(text[at:], "\n")
	if open != "" {
		rest = open + "\n" + rest
	}
	if most := p.MostFile; most > 0 && len(rest) > most {
		for most > 0 && !utf8.RuneStart(rest[most]) {
			most--
		}
		rest = rest[:most]
	}
	if line == restLine {
		files = append(files, Part{File: &llm.File{Name: restName, Type: "text/markdown; charset=utf-8", Data: []byte(rest)}})
	}
	return texts[:min(len(texts), n)], files
}

// conversion is what a text was converted to, with the arguments.
type conversion struct {
	text, refused string
	whole         bool
	most          int // messages; 0 means no limit
	texts, files  []Part
}

// once returns the result of convert, or that of the last time if the arguments are the same. Render is called several
// times for each request: to find out what to request, when that is permitted, and afterwards.
func (c *conversion) once(text string, whole bool, most int, refused []string, convert func() (texts, files []Part)) (texts, files []Part) {
	names := strings.Join(refused, "\n")
	if c.texts == nil || c.text != text || c.whole != whole || c.most != most || c.refused != names {
		texts, files = convert()
		*c = conversion{text, names, whole, most, texts, files}
	}
	return slices.Clone(c.texts), slices.Clone(c.files)
}

// cutPosition returns the last position at which text can be cut so that the part before it fits into n messages, with line
// below. It is the end of a block if one is near, otherwise of a line or a word. In code, open is the line that opens it,
// to be repeated at the beginning of the rest.
func (p *MarkdownMessages) cutPosition(text string, n int, line string) (at int, open string) {
	renderer := markdown.NewRenderer(p.Dialect, p.Limits)
	fits := func(end int) bool {
		_, open := fence(text[:end])
		parts, _ := renderer.Finish(closeCode(text[:end], open) + line)
		return len(parts) <= n
	}
	last := min(len(text), n*p.Limits.Length*utf8.UTFMax)
	at = sort.Search(last, func(i int) bool { return !fits(i + 1) })
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	for _, c := range []struct {
		sep  string
		near int
	}{{"\n\n", p.Limits.Length}, {"\n", p.Limits.Length}, {" ", 100}} {
		end := strings.LastIndex(text[:at], c.sep)
		if end <= 0 || at-end > c.near {
			continue
		}
		if _, open := fence(text[:end]); open == "" || c.sep != "\n\n" {
			return end + len(c.sep), open
		}
	}
	_, open = fence(text[:at])
	return at, open
}

// fence reports whether text ends within fenced code: the line that opened it, and its fence.
func fence(text string) (mark, open string) {
	for line := range strings.Lines(text) {
		trimmed := strings.TrimLeft(line, " ")
		if len(line)-len(trimmed) > 3 {
			continue
		}
		run := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
		if run == 0 {
			run = len(trimmed) - len(strings.TrimLeft(trimmed, "~"))
		}
		if run < 3 {
			continue
		}
		switch rest := strings.TrimSpace(trimmed[run:]); {
		case mark == "" && !strings.Contains(rest, "`"):
			mark, open = trimmed[:run], strings.TrimRight(line, "\r\n")
		case mark != "" && rest == "" && strings.HasPrefix(trimmed, mark):
			mark, open = "", ""
		}
	}
	return mark, open
}

// closeCode returns text with its fenced code closed; open is the line that opened it, or empty.
func closeCode(text, open string) string {
	if open == "" {
		return text
	}
	mark, _ := fence(open)
	return strings.TrimRight(text, "\n") + "\n" + mark
}
