package attachment

import (
	"slices"

	"parley/core/chat"
	"parley/core/text"
)

// WithoutRepeats returns recent with each file of a replied-to message once. Such files are left out if that message is itself a part of
// recent, and so is most of its text. They are also left out if an earlier message of the turn has them, as when an album replies to
// something; inputs are the messages of the turn. Content that an earlier turn read from a file is not read again.
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

// withoutRepeats does that for m, which follows earlier.
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
