package telegram

import (
	"cmp"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core/chat"
)

// filesOf returns the attachments of m. A ref is the id by which the server returns the file to this bot; other bots
// can't use it. Most kinds have no name or type of their own, so they get the usual ones. Telegram sends an animation
// as a document too, for clients without animations, so animations come first. A sticker becomes text, see [said].
func filesOf(m *tgbotapi.Message) []chat.Attachment {
	switch {
	case m.Voice != nil:
		v := m.Voice
		return []chat.Attachment{{Ref: v.FileID, Name: "voice.ogg", Type: cmp.Or(v.MimeType, "audio/ogg"), Size: int64(v.FileSize), Voice: true}}
	case m.Audio != nil:
		a := m.Audio
		return []chat.Attachment{{Ref: a.FileID, Name: cmp.Or(a.FileName, "audio.mp3"), Type: cmp.Or(a.MimeType, "audio/mpeg"), Size: int64(a.FileSize), Title: a.Title}}
	case len(m.Photo) > 0:
		p := largest(m.Photo)
		return []chat.Attachment{{Ref: p.FileID, Name: "photo.jpg", Type: "image/jpeg", Size: int64(p.FileSize)}}
	case m.Animation != nil:
		a := m.Animation
		return []chat.Attachment{{Ref: a.FileID, Name: cmp.Or(a.FileName, "animation.mp4"), Type: cmp.Or(a.MimeType, "video/mp4"), Size: int64(a.FileSize)}}
	case m.Video != nil:
		v := m.Video
		return []chat.Attachment{{Ref: v.FileID, Name: cmp.Or(v.FileName, "video.mp4"), Type: cmp.Or(v.MimeType, "video/mp4"), Size: int64(v.FileSize)}}
	case m.VideoNote != nil:
		v := m.VideoNote
		return []chat.Attachment{{Ref: v.FileID, Name: "video.mp4", Type: "video/mp4", Size: int64(v.FileSize)}}
	case m.Document != nil:
		d := m.Document
		return []chat.Attachment{{Ref: d.FileID, Name: cmp.Or(d.FileName, "document"), Type: d.MimeType, Size: int64(d.FileSize)}}
	}
	return nil
}

// largest returns the best copy of a picture. The server lists copies by size, but does not document that order.
func largest(sizes []tgbotapi.PhotoSize) tgbotapi.PhotoSize {
	best := sizes[0]
	for _, s := range sizes[1:] {
		if s.Width*s.Height >= best.Width*best.Height {
			best = s
		}
	}
	return best
}

// sticker returns a sticker as text.
func sticker(s *tgbotapi.Sticker) string {
	if s.Emoji == "" {
		return "*Sticker*"
	}
	return "*Sticker " + s.Emoji + "*"
}
