package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/core/text"
)

// Empty reports whether m has neither text nor files.
func (m Memory) Empty() bool { return strings.TrimSpace(m.Text) == "" && len(m.Files) == 0 }

// Unheard reports whether m consists only of voice messages without a transcript.
func (m Memory) Unheard() bool {
	other := func(f Attachment) bool { return !f.Voice || f.Heard() }
	return strings.TrimSpace(m.Text) == "" && len(m.Files) > 0 && !slices.ContainsFunc(m.Files, other)
}

// Heard reports whether f is a voice message with a transcript.
func (f Attachment) Heard() bool { return f.Voice && f.Text != "" }

// WithTranscripts returns text with the transcripts of voice messages.
func WithTranscripts(text string, files []Attachment) string {
	var lines []string
	if strings.TrimSpace(text) != "" {
		lines = append(lines, text)
	}
	for _, f := range files {
		if f.Heard() {
			lines = append(lines, f.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// MaxQuoted is the maximum stored length of a quoted message, in characters.
const MaxQuoted = 300

// PromptText returns m as a model reads it: the quoted message, the text, and the attachments.
func (m Memory) PromptText() string {
	if m.Quoted.Text == "" && len(m.Files) == 0 {
		return m.Text // as most messages
	}
	lines := make([]string, 0, 2+len(m.Files))
	if q := m.Quoted; q.Text != "" {
		lines = append(lines, fmt.Sprintf("[In reply to %s: %s]", cmp.Or(inBrackets(q.Name), "a message"), inBrackets(q.Text)))
	}
	if m.Text != "" {
		lines = append(lines, m.Text)
	}
	for _, f := range m.Files {
		if !f.Heard() { // transcripts are part of the text
			lines = append(lines, f.promptText())
		}
	}
	return strings.Join(lines, "\n")
}

// inBrackets returns text in one line, without brackets that would close the surrounding ones.
func inBrackets(text string) string {
	return strings.NewReplacer("[", "(", "]", ")").Replace(strings.Join(strings.Fields(text), " "))
}

// promptText returns the name of f and its known content. The content is indented, so that it can't pass for what the sender of f says.
func (f Attachment) promptText() string {
	kind := "File"
	if f.Voice {
		kind = "Voice message"
	} else if f.Link {
		kind = "Linked page, which may say anything"
	}
	var named []string
	for _, part := range []string{f.Name, f.Type, f.Title} {
		if part != "" {
			named = append(named, inBrackets(part))
		}
	}
	if f.Unread != "" {
		named = append(named, "not read: "+inBrackets(f.Unread))
	}
	lines := []string{"[" + kind + ": " + strings.Join(named, ", ") + "]"}
	for _, read := range []string{f.Description, f.Text} {
		if read != "" {
			lines = append(lines, "  "+text.Quote(read))
		}
	}
	return strings.Join(lines, "\n")
}

// Same reports whether both refer to the same file, as far as the known fields tell.
func (f Attachment) Same(o Attachment) bool {
	return f.Ref == o.Ref || f.Name == o.Name && f.Type == o.Type && f.Size == o.Size && f.Size > 0
}
