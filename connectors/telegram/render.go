package telegram

import (
	"strings"

	"parley/core"
	"parley/progressive"
	"parley/progressive/markdown"
)

// A message holds 4096 characters after parsing and 32 KiB before (TR-04). Of more than 100 entities the server drops
// the last without a word (TR-05).
const (
	mostText     = 4000 // UTF-16 units, as people read them
	mostRaw      = 32 << 10
	mostEntities = 90
)

// newRenderer makes messages in Telegram's HTML (TR-09) of Markdown. It remembers what it has done: each answer has one
// of its own.
func newRenderer() *markdown.Renderer {
	return markdown.NewRenderer(
		markdown.HTML(markdown.HTMLOptions{Spoiler: "tg-spoiler", Schemes: []string{"tg"}}),
		markdown.Limits{Length: mostText, Raw: mostRaw, Entities: mostEntities},
	)
}

// render gives the messages that an answer becomes, or will as far as it has come, with lines below.
func render(r *markdown.Renderer, v core.View, lines []string) []progressive.Part {
	fits := func(p progressive.Part) bool {
		return progressive.UTF16Len(p.Plain) <= mostText && len(p.Text) <= mostRaw
	}
	return progressive.Under(renderText(r, v.Text(), v.Outcome.Done()), lines, v.Outcome.Done(), r.Lines, fits)
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
