package telegram

import (
	"strings"

	"parley/progressive"
	"parley/progressive/markdown"
)

// A message holds 4096 characters after parsing and 32 KiB before. The server silently drops entities beyond 100.
const (
	mostText     = 4000        // UTF-16 units after parsing; the rest is reserved for the mark of a repeated message
	mostRaw      = 32<<10 - 64 // with the same reserve
	mostEntities = 90
)

// display describes messages in Telegram's HTML. With reply, the first message replies to the question. The messages
// mention only the user named asker, or no one if asker is empty: a text of the model's must not notify other users.
func display(reply bool, asker string) progressive.MarkdownOptions {
	mention := func(name string) bool { return asker != "" && strings.EqualFold(name, asker) }
	return progressive.MarkdownOptions{
		Dialect:  markdown.HTML(markdown.HTMLOptions{Spoiler: "tg-spoiler", Mentions: mention}),
		Limits:   markdown.Limits{Length: mostText, Raw: mostRaw, Entities: mostEntities},
		MostFile: mostFile, Reply: reply, Chosen: true,
	}
}
