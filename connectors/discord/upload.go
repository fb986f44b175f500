package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"

	"github.com/bwmarrin/discordgo"

	"parley/connectors"
	"parley/core/llm"
	"parley/progressive"
)

// file is a file to send. Its name and type are cleaned of characters that could end a header, because the library does
// not do that: both come from a model or from a plugin.
type file llm.File

// sendable returns f with a name and a type that are safe in a header. An invalid type becomes the general one.
func sendable(f llm.File) file {
	kind, params, err := mime.ParseMediaType(f.Type)
	if f.Type = mime.FormatMediaType(kind, params); err != nil || f.Type == "" {
		f.Type = "application/octet-stream"
	}
	f.Name = connectors.FileName(f.Name)
	return file(f)
}

// named is a file of a message, with its index in the request.
type named struct {
	Place string `json:"id"`
	Name  string `json:"filename"`
}

func (f file) named() []named { return []named{{"0", f.Name}} }

// upload is a request body with files.
type upload struct {
	payload any
	file    file
}

// encode returns the body of a request and its content type. A nil in has neither, an [upload] becomes a multipart
// form, and anything else JSON.
func encode(in any) (kind string, body []byte, err error) {
	switch in := in.(type) {
	case nil:
		return "", nil, nil
	case upload:
		return discordgo.MultipartBodyWithJSON(in.payload, []*discordgo.File{
			{Name: in.file.Name, ContentType: in.file.Type, Reader: bytes.NewReader(in.file.Data)},
		})
	}
	body, err = json.Marshal(in)
	return "application/json", body, err
}

// judgeFile converts a permanent refusal of a part with a file to a refusal of the file (ErrUnparsable), so that the
// caller sends the text instead. judge has closed the conversation because of the same refusal; that is undone, because
// possibly the channel only refuses files. If it refuses the text too, it is closed then.
func (s *sink) judgeFile(p progressive.Part, err error) error {
	r := (*refusal)(nil)
	if p.File == nil || !errors.As(err, &r) || errors.Is(err, progressive.ErrGone) || errors.Is(err, progressive.ErrStale) {
		return err
	}
	s.closed = false
	return fmt.Errorf("%w: %w", progressive.ErrUnparsable, r)
}
