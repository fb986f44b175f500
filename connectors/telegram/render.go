package telegram

import (
	"strings"

	"parley/progressive"
	"parley/progressive/markdown"
)

// A message holds 4096 characters after parsing and 32 KiB before (TR-04). Of more than 100 entities the server drops
// the last without a word (TR-05).
const (
	mostText     = 4000        // UTF-16 units, as people read them; the rest is for the mark of a repetition
	mostRaw      = 32<<10 - 64 // as well
	mostEntities = 90
)

// newProse makes messages in Telegram's HTML (TR-09) of Markdown. With reply the first stands below the question. Of all
// people and chats only the user with the name asker may be mentioned; if it is empty, none.
func newProse(reply bool, asker string, progress progressive.Progress, code progressive.LongCode) *progressive.MarkdownMessages {
	mention := func(name string) bool { return asker != "" && strings.EqualFold(name, asker) }
	return progressive.NewProse(progressive.MarkdownOptions{
		Dialect:  markdown.HTML(markdown.HTMLOptions{Spoiler: "tg-spoiler", Mentions: mention}),
		Limits:   markdown.Limits{Length: mostText, Raw: mostRaw, Entities: mostEntities},
		MostFile: mostFile, Reply: reply, Progress: progress, LongCode: code,
	})
}
