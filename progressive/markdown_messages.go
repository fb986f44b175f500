package progressive

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/progressive/markdown"
)

// LongCode determines how code is shown that would take more than two messages of its own.
type LongCode string

// Words returns the words of the configuration.
func (LongCode) Words() []string { return []string{string(InMessages), string(InFile)} }

// The places for long code.
const (
	InMessages LongCode = "message" // in as many messages as needed
	InFile     LongCode = "file"    // in a file below the answer, with a line in place of the code
)

// MarkdownOptions describe how a platform shows answers.
type MarkdownOptions struct {
	Dialect  markdown.Dialect
	Limits   markdown.Limits // of a message; Length is required
	MostFile int             // bytes
	Reply    bool            // the first message is a reply to the question
	Chosen   bool            // the chosen option stays visible
	Progress Progress
	LongCode LongCode
	// MaxMessages is the maximum number of messages of an answer; the rest goes into a file. 0 means no limit.
	MaxMessages int
	// Say returns a sentence of the catalog in the language of the reader. nil: in English.
	Say func(key string, pairs ...any) string
}

// MarkdownMessages converts an answer, complete or in progress, to messages: its Markdown, lines about calls, buttons,
// and files. It caches its work, so each answer needs its own. It is not safe for concurrent use.
type MarkdownMessages struct {
	MarkdownOptions
	renderer  *markdown.Renderer
	textCache answer.TextCache
	converted conversion // the last result of text
	truncated conversion // the last result of truncate
}

// NewMarkdownMessages returns a converter for one answer.
func NewMarkdownMessages(o MarkdownOptions) *MarkdownMessages {
	if o.LongCode == InFile {
		o.Limits.Code = 2 * o.Limits.Length
	}
	if o.Say == nil {
		o.Say = lang.Voice{}.Say
	}
	return &MarkdownMessages{MarkdownOptions: o, renderer: markdown.NewRenderer(o.Dialect, o.Limits)}
}

// Parts converts v, as needed for [Sink].Render.
func (p *MarkdownMessages) Parts(v answer.View, refused ...string) []Part {
	done := v.Outcome.Done()
	text := p.textCache.Text(v)
	texts, code := p.converted.once(text, done, 0, refused, func() ([]Part, []Part) { return p.text(text, done, refused) })
	files, tooLarge := Files(v, p.MostFile, p.Say)
	lines := append(p.Progress.Lines(v), tooLarge...)
	if !done {
		texts = p.limitGrowing(texts)
	}
	all := AppendLines(texts, lines, done, p.renderer.Lines, p.fits)
	if done && p.MaxMessages > 0 && len(all) > p.MaxMessages {
		most := p.maxTexts() - min(len(all)-len(texts), p.maxTexts()-1)
		texts, code = p.truncated.once(text, true, most, refused, func() ([]Part, []Part) { return p.truncate(text, most, refused) })
		all = AppendLines(texts, lines, done, p.renderer.Lines, p.fits)
	}
	texts = all
	if n := len(texts); n > 0 {
		texts[0].ReplyTo = p.Reply
		texts[n-1].Offer = v.Choices
		if v.Choices == nil && n == 1 && p.Chosen { // below a longer answer, it would belong to nothing
			texts[0].Offer = v.Chosen
		}
	}
	return slices.Concat(texts, files, code)
}

// text converts Markdown to messages, and returns code that is too long for them as files.
func (p *MarkdownMessages) text(text string, whole bool, refused []string) (texts, files []Part) {
	var parts []markdown.Rendered
	var long []markdown.Attachment
	if whole {
		parts, long = p.renderer.Finish(text, refused...)
	} else {
		parts = p.renderer.Render(text, false)
	}
	if whole && len(parts) == 0 { // only markup, such as "**": show it as it is
		parts = p.renderer.Verbatim(text)
	}
	texts = make([]Part, 0, len(parts))
	for _, m := range parts {
		texts = append(texts, Part{Text: m.Text, Plain: m.Plain})
	}
	for _, c := range long {
		files = append(files, Part{File: &llm.File{Name: c.Name, Type: "text/plain; charset=utf-8", Data: []byte(c.Text)}})
	}
	return texts, files
}

// fits reports whether m is within the platform's limits.
func (p *MarkdownMessages) fits(m Part) bool {
	return p.renderer.Fits(markdown.Rendered{Text: m.Text, Plain: m.Plain})
}

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
	line, asFile := "", !slices.Contains(refused, restName)
	if asFile {
		line = "_(" + p.Say("message.rest_in_file", "file", restName) + ")_"
	} else {
		line = "_(" + p.Say("message.rest_too_long") + ")_"
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
	if asFile {
		files = append(files, Part{File: &llm.File{Name: restName, Type: "text/markdown; charset=utf-8", Data: []byte(rest)}})
	}
	return texts[:min(len(texts), n)], files
}

// cutPosition returns the last position where text can be cut so that the part before it fits into n messages, with
// line below. It is the end of a block if one is near, otherwise of a line or a word. In code, open is the line that
// opens it, to be repeated at the beginning of the rest.
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

// restName is the name of the file with the rest of an answer that is too long for its chat.
const restName = "rest-of-answer.md"

// conversion is the result of converting a text, with the arguments.
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
