package telegram

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // for photos
	_ "image/png"
	"mime"
	"net/http"
	"path"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/llm"
	"parley/progressive"
	"parley/progressive/markdown"
)

// Size limits of files in bytes and of photos in pixels, from the Bot API's reference ("Sending files", sendPhoto).
const (
	mostFile  = 50e6
	mostPhoto = 10e6
	mostSides = 10_000 // width plus height
	mostRatio = 20
)

// carried is a file prepared for sending.
type carried struct {
	kind string // photo, audio, voice or document: the name used in the method, its parameter and InputMedia
	name string
	data []byte
	says string // the caption in HTML
}

// carry chooses how to send a file: everything that is neither a photo nor music nor a voice message is a document. The server identifies
// music by the file name ("Your audio must be in the .MP3 or .M4A format").
func carry(f llm.File) carried {
	c := carried{kind: "document", name: connectors.FileName(f.Name), data: f.Data}
	if f.Caption != "" { // mentions in it notify no one, as in other texts of the model
		c.says, _ = markdown.NewRenderer(display(false, "").Dialect, markdown.Limits{}).Lines([]string{f.Caption})
	}
	switch ext := music(f.Type); {
	case isOpus(f.Data): // the only voice messages
		c.kind = "voice"
	case ext != "":
		c.kind = "audio"
		if !strings.EqualFold(path.Ext(c.name), ext) {
			c.name += ext
		}
	case isPhoto(f.Data):
		c.kind = "photo"
	}
	return c
}

// music returns the file extension of a playable audio type, or "".
func music(kind string) string {
	kind, _, _ = mime.ParseMediaType(kind) // empty if malformed
	switch kind {
	case "audio/mpeg", "audio/mp3":
		return ".mp3"
	case "audio/mp4", "audio/m4a", "audio/x-m4a":
		return ".m4a"
	}
	return ""
}

// isOpus reports whether data is speech in the format of voice messages.
func isOpus(data []byte) bool {
	return bytes.HasPrefix(data, []byte("OggS")) && bytes.Contains(data[:min(len(data), 64)], []byte("OpusHead"))
}

// isPhoto reports whether data is an image that sendPhoto accepts. Only the header is decoded.
func isPhoto(data []byte) bool {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	return err == nil && len(data) <= mostPhoto && c.Width+c.Height <= mostSides && max(c.Width, c.Height) <= mostRatio*min(c.Width, c.Height)
}

func (c carried) method() string { return "send" + strings.ToUpper(c.kind[:1]) + c.kind[1:] }

// attached is the multipart name of a file whose InputMedia is a parameter of its own.
const attached = "file"

// caption adds the caption to the parameters of a message or the fields of an InputMedia.
func (c carried) caption(fields map[string]string) map[string]string {
	if c.says != "" {
		fields["caption"], fields["parse_mode"] = c.says, tgbotapi.ModeHTML
	}
	return fields
}

// media returns the InputMedia of c for an edit.
func (c carried) media() string {
	if c.kind == "voice" { // can't be edited
		c.kind = "audio"
	}
	raw, _ := json.Marshal(c.caption(map[string]string{"type": c.kind, "media": "attach://" + attached})) // of strings
	return string(raw)
}

func (c carried) files(field string) []tgbotapi.RequestFile {
	return []tgbotapi.RequestFile{{Name: field, Data: tgbotapi.FileBytes{Name: c.name, Bytes: c.data}}}
}

// judgeFile converts a permanent refusal of a part with a file to a refusal of the file (ErrUnparsable), so that the
// caller sends the text instead. Possibly the chat only refuses files; sending the text shows whether that is so.
func judgeFile(p progressive.Part, err error) error {
	r := (*refusal)(nil)
	if p.File == nil || !errors.As(err, &r) || errors.Is(err, progressive.ErrGone) || errors.Is(err, progressive.ErrStale) ||
		r.code >= http.StatusInternalServerError || r.code == http.StatusTooManyRequests {
		return err
	}
	return fmt.Errorf("%w: %w", progressive.ErrUnparsable, r)
}
