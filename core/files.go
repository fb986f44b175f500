package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/core/text"
)

// deafLine is what people hear who speak to an agent that has nothing to listen with.
const deafLine = "I can't listen to voice messages here. Please send me text instead."

// cleanFiles makes what a sender calls a file fit to be shown: one line, and not a long one.
func cleanFiles(files []Attachment) []Attachment {
	all := slices.Clone(files)
	for i, f := range all {
		all[i].Ref, all[i].Name, all[i].Type, all[i].Title = text.Clean(f.Ref), label(f.Name), label(f.Type), label(f.Title)
		all[i].Description, all[i].Text, all[i].Unread = text.Visible(f.Description), text.Visible(f.Text), label(f.Unread)
	}
	return all
}

// label is what a sender calls a file, in one line.
func label(txt string) string { return text.OneLine(txt, 200) }

// checkFiles says whether all refs can be stored.
func checkFiles(m Memory) error {
	for _, f := range m.Files {
		if len(f.Ref) > MaxOwn {
			return fmt.Errorf("reference to a file of %s: %w", m.ID, ErrTooLarge)
		}
	}
	return nil
}

// empty says that nothing came: no text and no file.
func (m Memory) empty() bool { return strings.TrimSpace(m.Text) == "" && len(m.Files) == 0 }

// unheard says that m is nothing but voices that nobody has written down.
func (m Memory) unheard() bool {
	other := func(f Attachment) bool { return !f.Voice || f.heard() }
	return strings.TrimSpace(m.Text) == "" && len(m.Files) > 0 && !slices.ContainsFunc(m.Files, other)
}

// heard says that f is a voice that was written down.
func (f Attachment) heard() bool { return f.Voice && f.Text != "" }

// withTranscripts is text with what is said in files: that is what the person says.
func withTranscripts(text string, files []Attachment) string {
	var lines []string
	if strings.TrimSpace(text) != "" {
		lines = append(lines, text)
	}
	for _, f := range files {
		if f.heard() {
			lines = append(lines, f.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// maxQuoted is how much is kept of what a message replies to, in characters.
const maxQuoted = 300

// promptText are what a model reads of m: what it replies to, its text, and what came with it.
func (m Memory) promptText() string {
	lines := make([]string, 0, 2+len(m.Files))
	if q := m.Quoted; q.Text != "" {
		lines = append(lines, fmt.Sprintf("[In reply to %s: %s]", cmp.Or(inBrackets(q.Name), "a message"), inBrackets(q.Text)))
	}
	if m.Text != "" {
		lines = append(lines, m.Text)
	}
	for _, f := range m.Files {
		if !f.heard() { // what was spoken stands in the text
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

// keepRead gives files what was read of the ones they are: a platform may tell of a file again, under another reference.
func keepRead(files, old []Attachment) []Attachment {
	all := slices.Clone(files)
	for i, f := range all {
		if k := slices.IndexFunc(old, f.same); k >= 0 {
			all[i] = old[k]
		}
	}
	return all
}

// same says that both are one file, as far as anybody can tell.
func (f Attachment) same(o Attachment) bool {
	return f.Ref == o.Ref || f.Name == o.Name && f.Type == o.Type && f.Size == o.Size && f.Size > 0
}

// sameFiles compares two lists.
func sameFiles(a, b []Attachment) bool { return slices.EqualFunc(a, b, Attachment.same) }
