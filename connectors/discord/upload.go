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

// file is one that can be sent: nothing in its name or its type ends a header (SE-05), which the library leaves to us.
type file llm.File

func sendable(f llm.File) file {
	kind, params, err := mime.ParseMediaType(f.Type)
	if f.Type = mime.FormatMediaType(kind, params); err != nil || f.Type == "" {
		f.Type = "application/octet-stream"
	}
	f.Name = connectors.FileName(f.Name)
	return file(f)
}

// named is a file that comes with a message, by its place in the request.
type named struct {
	Place string `json:"id"`
	Name  string `json:"filename"`
}

func (f file) named() []named { return []named{{"0", f.Name}} }

// upload is the body of a request with a file beside it.
type upload struct {
	payload any
	file    file
}

// encode makes the body of a request, and says of what kind it is.
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

// judgeFile makes what is refused for good, of a part with a file, a file that is not taken: it may be no more than files
// that are refused here, and the words instead find out.
func (s *sink) judgeFile(p progressive.Part, err error) error {
	r := (*refusal)(nil)
	if p.File == nil || !errors.As(err, &r) || errors.Is(err, progressive.ErrGone) || errors.Is(err, progressive.ErrStale) {
		return err
	}
	s.closed = false
	return fmt.Errorf("%w: %w", progressive.ErrUnparsable, r)
}
