package discord

import (
	"parley/progressive"
	"parley/progressive/markdown"
)

// mostText is how much of Markdown a message holds, in UTF-16 units. Discord takes 2000 characters and does not say of
// which kind (DR-07).
const mostText = 1950

// mostFile is how large a file may be, in bytes, where nothing was bought for more (DR-07).
const mostFile = 10 << 20

// newProse makes messages of Markdown, of which Discord reads most.
func newProse(progress progressive.Progress, code progressive.LongCode) *progressive.MarkdownMessages {
	return progressive.NewProse(progressive.MarkdownOptions{
		Dialect: markdown.Light(), Limits: markdown.Limits{Length: mostText},
		MostFile: mostFile, Reply: true, Progress: progress, LongCode: code,
	})
}
