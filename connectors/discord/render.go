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

// display describes messages in Markdown. Discord supports most of it.
var display = progressive.MarkdownOptions{ // never changed
	Dialect: markdown.Light(), Limits: markdown.Limits{Length: mostText}, MostFile: mostFile, Reply: true,
}
