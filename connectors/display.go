package connectors

import (
	"parley/internal/sections"
	"parley/progressive"
)

// Display is how a platform shows answers. Sections of the configuration embed it.
type Display struct {
	// Whether to show a line per action call with the answer: compact = while it is being written; full = also afterwards; off.
	Progress progressive.Progress `yaml:"progress" default:"compact"`
	// How to send code blocks longer than two messages: message = as several messages, which can be searched and quoted;
	// file = as a file below the answer, which is easier to copy. While code is being written, at most half a message of it is
	// shown. If the chat rejects files, the code is sent as messages.
	LongCode progressive.LongCode `yaml:"long_code" default:"message"`
	// The maximum number of messages per answer. The rest of a longer answer is sent as a file, with a notice. 0 = no limit.
	MaxMessages int `yaml:"max_messages" default:"10"`
}

// Check implements [sections.Checker].
func (d Display) Check(reject sections.Reject) { reject.Limit("max_messages", d.MaxMessages) }

// Messages returns a converter for one answer, on a platform that o describes.
func (d Display) Messages(o progressive.MarkdownOptions) *progressive.MarkdownMessages {
	o.Progress, o.LongCode, o.MaxMessages = d.Progress, d.LongCode, d.MaxMessages
	return progressive.NewMarkdownMessages(o)
}
