// Package attachment has the files of messages read, or shown to a model, and remembers what they hold: each is read once, and shown
// with one question. Reading never fails a turn.
package attachment

import (
	"fmt"
	"slices"

	"parley/core/chat"
	"parley/core/text"
)

// Clean makes what a sender calls a file fit to be shown: one line, and not a long one.
func Clean(files []chat.Attachment) []chat.Attachment {
	all := slices.Clone(files)
	for i, f := range all {
		all[i].Ref, all[i].Name, all[i].Type, all[i].Title = text.Clean(f.Ref), label(f.Name), label(f.Type), label(f.Title)
		all[i].Description, all[i].Text, all[i].Unread = text.Visible(f.Description), text.Visible(f.Text), label(f.Unread)
	}
	return all
}

// label is what a sender calls a file, in one line.
func label(txt string) string { return text.OneLine(txt, 200) }

// Check reports whether all refs can be stored.
func Check(m chat.Memory) error {
	for _, f := range m.Files {
		if len(f.Ref) > chat.MaxOwn {
			return fmt.Errorf("reference to a file of %s: %w", m.ID, chat.ErrTooLarge)
		}
	}
	return nil
}

// CleanMessage checks whether m can be stored, and makes its texts fit to be shown.
func CleanMessage(m chat.Message) (chat.Message, error) {
	if len(m.Address.ConnectorData) > chat.MaxOwn {
		return m, fmt.Errorf("address of %s: %w", m.ID, chat.ErrTooLarge)
	}
	if err := Check(m.Memory); err != nil {
		return m, err
	}
	m.Text, m.Name, m.Place.Name, m.Files = text.Visible(m.Text), text.Visible(m.Name), text.Visible(m.Place.Name), Clean(m.Files)
	m.Quoted = chat.Quoted{Name: text.Label(m.Quoted.Name), Text: text.OneLine(m.Quoted.Text, chat.MaxQuoted), What: text.Label(m.Quoted.What)}
	return m, nil
}

// KeepRead gives files what was read of the ones they are: a platform may tell of a file again, under another reference.
func KeepRead(files, old []chat.Attachment) []chat.Attachment {
	all := slices.Clone(files)
	for i, f := range all {
		if k := slices.IndexFunc(old, f.Same); k >= 0 {
			all[i] = old[k]
		}
	}
	return all
}

// Edited returns the files of a message after an edit. Those of the message that it replies to stay, because platforms don't always tell of
// them again.
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
