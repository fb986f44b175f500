package progressive

import (
	"slices"

	"parley/core/answer"
	"parley/core/llm"
	"parley/progressive/markdown"
)

// LongCode determines how code is shown that would take more than two messages of its own.
type LongCode string

// The places for long code.
const (
	InMessages LongCode = "message" // in as many messages as needed
	InFile     LongCode = "file"    // in a file below the answer, with a line in place of the code
)

// Words returns the words of the configuration.
func (LongCode) Words() []string { return []string{string(InMessages), string(InFile)} }

// MarkdownOptions describe how a platform shows answers.
type MarkdownOptions struct {
	Dialect  markdown.Dialect
	Limits   markdown.Limits // of a message; Length is required
	MostFile int             // bytes
	Reply    bool            // the first message is a reply to the question
	Progress Progress
	LongCode LongCode
	// MaxMessages is the maximum number of messages of an answer; the rest goes into a file. 0 means no limit.
	MaxMessages int
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

// NewProse returns a converter for one answer.
func NewMarkdownMessages(o MarkdownOptions) *MarkdownMessages {
	if o.LongCode == InFile {
		o.Limits.Code = 2 * o.Limits.Length
	}
	return &MarkdownMessages{MarkdownOptions: o, renderer: markdown.NewRenderer(o.Dialect, o.Limits)}
}

// Parts converts v, as needed for [Sink].Render.
func (p *MarkdownMessages) Parts(v answer.View, refused ...string) []Part {
	done := v.Outcome.Done()
	text := p.textCache.Text(v)
	texts, code := p.converted.once(text, done, 0, refused, func() ([]Part, []Part) { return p.text(text, done, refused) })
	files, tooLarge := Files(v, p.MostFile)
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
