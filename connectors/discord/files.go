package discord

import (
	"strings"

	"parley/core/chat"
)

// voiceMessage is the flag of a message that was spoken (DR-25).
const voiceMessage = 1 << 13

// attachment is a file of a message. Its URL is signed and expires (DR-26): it is never kept, and
// read at once where it is needed.
type attachment struct {
	ID          string `json:"id"`
	Name        string `json:"filename"`
	Type        string `json:"content_type"`
	Size        int64  `json:"size"`
	Description string `json:"description"`
	URL         string `json:"url"`
}

// fileRef is [chat.Attachment.Ref]: where an attachment is found again. Its form is stored, hence stays.
func fileRef(channel, message, attachment string) string {
	return channel + "/" + message + "/" + attachment
}

// files are what came with m.
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

// stickers say in words what is shown.
func (m message) stickers() string {
	var all []string
	for _, s := range m.Stickers {
		all = append(all, "*Sticker "+s.Name+"*")
	}
	return strings.Join(all, " ")
}
