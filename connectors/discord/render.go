package discord

import (
	"strings"

	"parley/core"
	"parley/progressive"
	"parley/progressive/markdown"
)

// mostText is how much of Markdown a message holds, in UTF-16 units. Discord takes 2000 characters and does not say of
// which kind (DR-07).
const mostText = 1950

// mostFile is how large a file may be, in bytes, where nothing was bought for more (DR-07).
const mostFile = 10 << 20

// newRenderer makes messages of Markdown, of which Discord reads most. It remembers what it has done: each answer has one
// of its own.
func newRenderer() *markdown.Renderer {
	return markdown.NewRenderer(markdown.Light(), markdown.Limits{Length: mostText})
}

// render gives the messages that an answer becomes, or will as far as it has come, with lines below.
func render(r *markdown.Renderer, v core.View, lines []string) []progressive.Part {
	fits := func(p progressive.Part) bool {
		return max(progressive.UTF16Len(p.Text), progressive.UTF16Len(p.Plain)) <= mostText
	}
	parts := progressive.Under(renderText(r, v.Text(), v.Outcome.Done()), lines, v.Outcome.Done(), r.Lines, fits)
	for i := range parts {
		parts[i].ReplyTo = i == 0
	}
	return parts
}

// renderText is what the agent says.
func renderText(r *markdown.Renderer, text string, whole bool) (parts []progressive.Part) {
	for _, m := range r.Render(text, whole) {
		parts = append(parts, progressive.Part{Text: m.Text, Plain: m.Plain})
	}
	if whole && len(parts) == 0 { // nothing but marks: as they were written
		for _, piece := range progressive.Split(strings.TrimSpace(text), mostText, progressive.UTF16Len) {
			parts = append(parts, progressive.Part{Plain: piece})
		}
	}
	return parts
}
