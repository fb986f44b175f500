package progressive

import (
	"slices"

	"parley/core/answer"
	"parley/core/llm"
	"parley/progressive/markdown"
)

// LongCode says where code goes that would take more than two messages of its own.
type LongCode string

// The places for long code.
const (
	InMessages LongCode = "message" // as many as it takes
	InFile     LongCode = "file"    // below the answer, with a line in place of the code
)

// Words returns the words of the configuration.
func (LongCode) Words() []string { return []string{string(InMessages), string(InFile)} }

// MarkdownOptions is how a platform shows answers.
type MarkdownOptions struct {
	Dialect  markdown.Dialect
	Limits   markdown.Limits // of a message; Length must be one
	MostFile int             // bytes
	Reply    bool            // the first message stands below the question
	Progress Progress
	LongCode LongCode
	// MaxMessages is how many messages an answer has at most, with the file that holds the rest. 0: as many as it takes.
	MaxMessages int
}

// MarkdownMessages makes the messages that an answer becomes, or will as far as it has come: of its Markdown, with lines and buttons
// below, and its files. It remembers what it has done: each answer has one of its own. Not safe for concurrent use.
type MarkdownMessages struct {
	MarkdownOptions
	renderer *markdown.Renderer
	said     answer.TextCache
	short    *shortened // the end of a long answer
}

// NewProse returns a maker of messages for one answer.
func NewProse(o MarkdownOptions) *MarkdownMessages {
	if o.LongCode == InFile {
		o.Limits.Code = 2 * o.Limits.Length
	}
	return &MarkdownMessages{MarkdownOptions: o, renderer: markdown.NewRenderer(o.Dialect, o.Limits)}
}

// Parts is what v becomes, as [Sink].Render wants it.
func (p *MarkdownMessages) Parts(v answer.View, refused ...string) []Part {
	done := v.Outcome.Done()
	text := p.said.Text(v)
	texts, code := p.text(text, done, refused)
	files, tooLarge := Files(v, p.MostFile)
	lines := append(p.Progress.Lines(v), tooLarge...)
	if !done {
		texts = p.begun(texts)
	}
	all := Under(texts, lines, done, p.renderer.Lines, p.fits)
	if done && p.MaxMessages > 0 && len(all) > p.MaxMessages {
		texts, code = p.shorten(text, p.most()-min(len(all)-len(texts), p.most()-1), refused)
		all = Under(texts, lines, done, p.renderer.Lines, p.fits)
	}
	texts = all
	if n := len(texts); n > 0 {
		texts[0].ReplyTo = p.Reply
		texts[n-1].Offer = v.Choices
	}
	return slices.Concat(texts, files, code)
}

// text is what the agent says, and the code that is too long for that.
func (p *MarkdownMessages) text(text string, whole bool, refused []string) (texts, files []Part) {
	var parts []markdown.Rendered
	var long []markdown.Attachment
	if whole {
		parts, long = p.renderer.Finish(text, refused...)
	} else {
		parts = p.renderer.Render(text, false)
	}
	if whole && len(parts) == 0 { // nothing but marks
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

// fits says whether a message is small enough.
func (p *MarkdownMessages) fits(m Part) bool {
	return p.renderer.Fits(markdown.Rendered{Text: m.Text, Plain: m.Plain})
}
