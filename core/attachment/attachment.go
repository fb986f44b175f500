// Package attachment reads the files of messages, or shows them to a model, and stores their content: each is read
// once, and shown with one question. Reading never fails a turn.
package attachment

import (
	"fmt"
	"slices"

	"parley/core/chat"
	"parley/core/text"
)

// Clean makes the senders' names of files fit to be shown: one line of limited length.
func Clean(files []chat.Attachment) []chat.Attachment {
	all := slices.Clone(files)
	for i, f := range all {
		all[i].Ref, all[i].Name, all[i].Type, all[i].Title = text.Clean(f.Ref), label(f.Name), label(f.Type), label(f.Title)
		all[i].Description, all[i].Text, all[i].Unread = text.Visible(f.Description), text.Visible(f.Text), label(f.Unread)
	}
	return all
}

// label returns a sender's name of a file, in one line.
func label(txt string) string { return text.OneLine(txt, 200) }

// Check returns an error unless all refs can be stored.
func Check(m chat.Memory) error {
	for _, f := range m.Files {
		if len(f.Ref) > chat.MaxOwn {
			return fmt.Errorf("reference to a file of %s: %w", m.ID, chat.ErrTooLarge)
		}
	}
	return nil
}

// CleanMessage makes the texts of m fit to be shown. It fails if m can't be stored.
func CleanMessage(m chat.Message) (chat.Message, error) {
	if len(m.Address.ConnectorData) > chat.MaxOwn || len(m.Address.Response) > chat.MaxOwn {
		return m, fmt.Errorf("address of %s: %w", m.ID, chat.ErrTooLarge)
	}
	if err := Check(m.Memory); err != nil {
		return m, err
	}
	m.Text, m.Name, m.Place.Name, m.Files = text.Visible(m.Text), text.Visible(m.Name), text.Visible(m.Place.Name), Clean(m.Files)
	m.Quoted = chat.Quoted{Name: text.Label(m.Quoted.Name), Text: text.OneLine(m.Quoted.Text, chat.MaxQuoted), What: text.Label(m.Quoted.What)}
	return m, nil
}

// KeepRead copies the content of the same files in old to files: a platform can report a file again, under another
// reference.
func KeepRead(files, old []chat.Attachment) []chat.Attachment {
	all := slices.Clone(files)
	for i, f := range all {
		if k := slices.IndexFunc(old, f.Same); k >= 0 {
			all[i] = old[k]
		}
	}
	return all
}

// Edited returns the files of a message after an edit. Those of the message that it replies to stay, because platforms
// don't always report them again.
func Edited(files, old []chat.Attachment) []chat.Attachment {
	replied := func(f chat.Attachment) bool { return f.Origin == chat.RepliedFile }
	all := slices.DeleteFunc(slices.Clone(files), replied)
	for _, f := range old {
		if replied(f) {
			all = append(all, f)
		}
	}
	return all
}

// Same compares two lists.
func Same(a, b []chat.Attachment) bool { return slices.EqualFunc(a, b, chat.Attachment.Same) }

// WithoutRepeats returns recent with each file of a replied-to message once. Such files are left out if that message is
// itself a part of recent, and so is most of its text. They are also left out if an earlier message of the turn has
// them, for example in an album that replies to a message; inputs are the messages of the turn. Content that an earlier
// turn read from a file is not read again.
func WithoutRepeats(recent []chat.Memory, inputs []chat.MemoryID) []chat.Memory {
	copied := false
	for i, m := range recent {
		if m.Quoted == (chat.Quoted{}) {
			continue
		}
		if !copied {
			recent, copied = slices.Clone(recent), true
		}
		recent[i] = withoutRepeats(m, recent[:i], inputs)
	}
	return recent
}

// withoutRepeats applies [WithoutRepeats] to m, which follows earlier.
func withoutRepeats(m chat.Memory, earlier []chat.Memory, inputs []chat.MemoryID) chat.Memory {
	if slices.ContainsFunc(earlier, func(o chat.Memory) bool { return o.ID == m.InReplyTo }) {
		m.Quoted.Text = text.Excerpt(m.Quoted.Text, chat.ShortQuote)
	}
	files := make([]chat.Attachment, 0, len(m.Files))
	for _, f := range m.Files {
		if f.Origin == chat.RepliedFile {
			known, in := find(f, earlier)
			if in.ID != "" && (in.ID == m.InReplyTo || slices.Contains(inputs, in.ID) && slices.Contains(inputs, m.ID)) {
				continue
			}
			if in.ID != "" && known.Read() && !f.Read() {
				f.Title, f.Description, f.Text, f.Unread = known.Title, known.Description, known.Text, known.Unread
			}
		}
		files = append(files, f)
	}
	m.Files = files
	return m
}

// find returns the same file as f in messages and its message, or zero values. The latest message that has it counts.
func find(f chat.Attachment, messages []chat.Memory) (chat.Attachment, chat.Memory) {
	for _, m := range slices.Backward(messages) {
		if i := slices.IndexFunc(m.Files, f.Same); i >= 0 {
			return m.Files[i], m
		}
	}
	return chat.Attachment{}, chat.Memory{}
}
