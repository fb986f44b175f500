package discord

import (
	"parley/connectors"
	"parley/core/chat"
)

// voiceMessage is the flag of a voice message.
const voiceMessage = 1 << 13

// attachment is a file of a message. Its URL is signed and expires, so it is never stored but used at once.
type attachment struct {
	ID          string `json:"id"`
	Name        string `json:"filename"`
	Type        string `json:"content_type"`
	Size        int64  `json:"size"`
	Description string `json:"description"`
	URL         string `json:"url"`

	Seconds float64 `json:"duration_secs"` // of a voice message
}

// fileRef returns [chat.Attachment.Ref], from which an attachment can be fetched again. Its form is stored, so it must
// not change.
func fileRef(channel, message, attachment string) string {
	return channel + "/" + message + "/" + attachment
}

// files returns the attachments of m, and those of the messages that it forwards. Both are fetched from m itself. One without a valid id
// could not be fetched, and is left out.
func (m message) files() []chat.Attachment {
	all := m.filesOf(m)
	for _, f := range m.Forwarded {
		all = append(all, connectors.From(chat.ForwardedFile, m.filesOf(f.Message))...)
	}
	return all
}

// filesOf returns the attachments of part, which is m or a message that m forwards.
func (m message) filesOf(part message) (all []chat.Attachment) {
	for _, a := range part.Attachments {
		if snowflake(a.ID) == 0 {
			continue
		}
		all = append(all, chat.Attachment{
			Ref: fileRef(m.Channel, m.ID, a.ID), Name: a.Name, Type: a.Type, Size: a.Size,
			Voice: part.Flags&voiceMessage != 0, Title: a.Description,
		})
	}
	return all
}
