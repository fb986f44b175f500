package discord

import (
	"parley/progressive"
	"parley/progressive/markdown"
)

// mostText is the maximum length of a message's Markdown, in UTF-16 units. Discord's limit is 2000 characters of an
// undocumented kind.
const mostText = 1950

// mostFile is the maximum size of a file, in bytes, without paid upgrades.
const mostFile = 10 << 20

// newProse renders Markdown, most of which Discord supports.
func newProse(progress progressive.Progress, code progressive.LongCode) *progressive.MarkdownMessages {
	return progressive.NewProse(progressive.MarkdownOptions{
		Dialect: markdown.Light(), Limits: markdown.Limits{Length: mostText},
		MostFile: mostFile, Reply: true, Progress: progress, LongCode: code,
	})
}
