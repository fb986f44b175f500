package discord

import (
	"strings"

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
}

// fileRef returns [chat.Attachment.Ref], from which an attachment can be fetched again. Its form is stored, so it must
// not change.
func fileRef(channel, message, attachment string) string {
	return channel + "/" + message + "/" + attachment
}

// files returns the attachments of m, without those of forwarded messages. One without a valid id could not be fetched,
// and is left out.
func (m message) files() (all []chat.Attachment) {
	for _, a := range m.Attachments {
		if snowflake(a.ID) == 0 {
			continue
		}
		all = append(all, chat.Attachment{
			Ref: fileRef(m.Channel, m.ID, a.ID), Name: a.Name, Type: a.Type, Size: a.Size,
			Voice: m.Flags&voiceMessage != 0, Title: a.Description,
		})
	}
	return all
}

// stickers describes the stickers of m as text, in italics.
func (m message) stickers() string {
	var all []string
	for _, s := range m.Stickers {
		all = append(all, "*Sticker "+s.Name+"*")
	}
	return strings.Join(all, " ")
}
