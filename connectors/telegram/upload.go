package telegram

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // what a photo may be
	_ "image/png"
	"mime"
	"net/http"
	"path"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/llm"
	"parley/progressive"
)

// How large files may be, in bytes, and photos in pixels, as the Bot API's reference says ("Sending files", sendPhoto).
const (
	mostFile  = 50e6
	mostPhoto = 10e6
	mostSides = 10_000 // width and height together
	mostRatio = 20
)

// carried is a file as it is sent.
type carried struct {
	kind string // photo, audio or document, as the methods, their parameters and InputMedia name it
	name string
	data []byte
}

// carry says what a file is for Telegram: what is neither a photo nor music is a document. The server knows music by its
// name ("Your audio must be in the .MP3 or .M4A format").
func carry(f llm.File) carried {
	c := carried{kind: "document", name: connectors.FileName(f.Name), data: f.Data}
	switch ext := music(f.Type); {
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

// music is how the name of a file ends that can be played, by its type; empty if that can't.
func music(kind string) string {
	kind, _, _ = mime.ParseMediaType(kind) // empty if it is none
	switch kind {
	case "audio/mpeg", "audio/mp3":
		return ".mp3"
	case "audio/mp4", "audio/m4a", "audio/x-m4a":
		return ".m4a"
	}
	return ""
}

func isPhoto(data []byte) bool {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	return err == nil && len(data) <= mostPhoto && c.Width+c.Height <= mostSides && max(c.Width, c.Height) <= mostRatio*min(c.Width, c.Height)
}

func (c carried) method() string { return "send" + strings.ToUpper(c.kind[:1]) + c.kind[1:] }

// attached names the file of a request whose media is elsewhere among its parameters.
const attached = "file"

// media is the InputMedia that stands for c in an edit.
func (c carried) media() string {
	return `{"type":"` + c.kind + `","media":"attach://` + attached + `"}`
}

func (c carried) files(field string) []tgbotapi.RequestFile {
	return []tgbotapi.RequestFile{{Name: field, Data: tgbotapi.FileBytes{Name: c.name, Bytes: c.data}}}
}

// judgeFile makes what is refused for good, of a part with a file, a file that is not taken: it may be no more than files
// that are refused here, and the words instead find out.
func judgeFile(p progressive.Part, err error) error {
	r := (*refusal)(nil)
	if p.File == nil || !errors.As(err, &r) || errors.Is(err, progressive.ErrGone) || errors.Is(err, progressive.ErrStale) ||
		r.code >= http.StatusInternalServerError || r.code == http.StatusTooManyRequests {
		return err
	}
	return fmt.Errorf("%w: %w", progressive.ErrUnparsable, r)
}
