package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/core/text"
)

// Empty reports whether m has neither text nor files, except those of the message that it replies to.
func (m Memory) Empty() bool {
	return strings.TrimSpace(m.Text) == "" && !slices.ContainsFunc(m.Files, Attachment.sent)
}

// Unheard reports whether m consists only of voice messages without a transcript.
func (m Memory) Unheard() bool {
	other := func(f Attachment) bool { return f.sent() && (!f.Spoken() || f.Heard()) }
	return !m.Empty() && strings.TrimSpace(m.Text) == "" && !slices.ContainsFunc(m.Files, other)
}

// sent reports whether f is a part of the message that it is attached to.
func (f Attachment) sent() bool { return f.Origin != RepliedFile }

// Spoken reports whether f is a voice message of the author of the message that it is attached to.
func (f Attachment) Spoken() bool { return f.Voice && f.Origin == OwnFile }

// Heard reports whether f is such a voice message with a transcript.
func (f Attachment) Heard() bool { return f.Spoken() && f.Text != "" }

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

// The maximum lengths of a quoted message, in characters.
const (
	MaxQuoted  = 2000 // as it is stored: the agent may not have received the message itself
	ShortQuote = 300  // in a prompt that contains the message itself, and of the agent's own messages
)

// PromptText returns m as a model reads it: the quoted message, the text, and the attachments.
func (m Memory) PromptText() string {
	if m.Quoted.Text+m.Quoted.What == "" && len(m.Files) == 0 {
		return m.Text // as most messages
	}
	lines := make([]string, 0, 2+len(m.Files))
	if q := m.Quoted.promptText(); q != "" {
		lines = append(lines, q)
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

// promptText returns q in one line, in brackets; "" if it says nothing.
func (q Quoted) promptText() string {
	to, said := inBrackets(q.Name), inBrackets(q.Text)
	switch {
	case q.What != "" && to != "":
		to = inBrackets(q.What) + " from " + to
	case q.What != "":
		to = inBrackets(q.What)
	case said == "":
		return ""
	}
	if to = cmp.Or(to, "a message"); said == "" {
		return "[In reply to " + to + "]"
	}
	return fmt.Sprintf("[In reply to %s: %s]", to, said)
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
	switch f.Origin {
	case RepliedFile:
		kind += " of the message replied to"
	case ForwardedFile:
		kind = "Forwarded " + strings.ToLower(kind[:1]) + kind[1:]
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
