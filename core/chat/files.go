package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Empty says that nothing came: no text and no file.
func (m Memory) Empty() bool { return strings.TrimSpace(m.Text) == "" && len(m.Files) == 0 }

// Unheard says that m is nothing but voices that nobody has written down.
func (m Memory) Unheard() bool {
	other := func(f Attachment) bool { return !f.Voice || f.Heard() }
	return strings.TrimSpace(m.Text) == "" && len(m.Files) > 0 && !slices.ContainsFunc(m.Files, other)
}

// Heard says that f is a voice that was written down.
func (f Attachment) Heard() bool { return f.Voice && f.Text != "" }

// WithTranscripts is text with what is said in files: that is what the person says.
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

// MaxQuoted is how much is kept of what a message replies to, in characters.
const MaxQuoted = 300

// PromptText are what a model reads of m: what it replies to, its text, and what came with it.
func (m Memory) PromptText() string {
	lines := make([]string, 0, 2+len(m.Files))
	if q := m.Quoted; q.Text != "" {
		lines = append(lines, fmt.Sprintf("[In reply to %s: %s]", cmp.Or(inBrackets(q.Name), "a message"), inBrackets(q.Text)))
	}
	if m.Text != "" {
		lines = append(lines, m.Text)
	}
	for _, f := range m.Files {
		if !f.Heard() { // what was spoken stands in the text
			lines = append(lines, f.promptText())
		}
	}
	return strings.Join(lines, "\n")
}

// inBrackets is text in one line that can't end the brackets that it stands in.
func inBrackets(text string) string {
	return strings.NewReplacer("[", "(", "]", ")").Replace(strings.Join(strings.Fields(text), " "))
}

// promptText name f, and say what is known of what it holds.
func (f Attachment) promptText() string {
	kind := "File"
	if f.Voice {
		kind = "Voice message"
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
			lines = append(lines, read)
		}
	}
	return strings.Join(lines, "\n")
}

// Same says that both are one file, as far as anybody can tell.
func (f Attachment) Same(o Attachment) bool {
	return f.Ref == o.Ref || f.Name == o.Name && f.Type == o.Type && f.Size == o.Size && f.Size > 0
}
