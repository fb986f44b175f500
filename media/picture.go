package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // their headers
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"strings"
	"sync"

	"parley/core/chat"
	"parley/core/llm"
)

const (
	// maxPixels is more than the cameras of phones produce. A small file can claim any number of pixels.
	maxPixels = 64_000_000
	// maxPicture is the size that models accept, in bytes.
	maxPicture = 10 << 20
	// maxDescription limits a model's description, in bytes.
	maxDescription = 8 << 10
)

// checkPicture returns an error if a model should not get an image. It reads the header only, because decoding an image
// can take any amount of memory.
func checkPicture(data []byte) error {
	if len(data) > maxPicture {
		return unread("the image is larger than 10 MB")
	}
	width, height, err := size(data)
	if err != nil || width <= 0 || height <= 0 {
		return fmt.Errorf("%w: %w", broken, err)
	}
	if width > maxPixels/height { // a product could overflow
		return unread(fmt.Sprintf("the image is too large: %d × %d pixels", width, height))
	}
	return nil
}

// size returns the size of an image in pixels, by its header.
func size(data []byte) (width, height int, err error) {
	if http.DetectContentType(data) == "image/webp" {
		return webpSize(data)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	return c.Width, c.Height, err
}

// webpSize reads the three forms of WebP headers (RFC 9649, section 2): lossy, lossless and extended. The standard
// library has no decoder for WebP.
func webpSize(data []byte) (width, height int, err error) {
	if len(data) < 30 {
		return 0, 0, errors.New("webp: the header is cut")
	}
	u24 := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
	switch string(data[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(data[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(data[28:]) & 0x3fff), nil
	case "VP8L":
		bits := binary.LittleEndian.Uint32(data[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, nil
	case "VP8X":
		return u24(data[24:]) + 1, u24(data[27:]) + 1, nil
	}
	return 0, 0, errors.New("webp: an unknown header")
}

// look asks the model to describe an image. A title that the user gave stays.
func (r *Reader) look(ctx context.Context, f *chat.Attachment, data []byte, question string) error {
	if err := checkPicture(data); err != nil {
		return err
	}
	if r.options.Vision == nil {
		return r.unseen()
	}
	said, err := r.ask(ctx, question, llm.File{Name: f.Name, Type: http.DetectContentType(data), Data: data})
	if err != nil {
		return fmt.Errorf("%w: describe: %w", noModel, err)
	}
	title, description, text := parts(said)
	if description == "" {
		return fmt.Errorf("%w: it returned nothing", noModel)
	}
	if f.Title == "" {
		f.Title = title
	}
	f.Description, f.Text = capped(description), capped(text)
	return nil
}

// unseen returns the result for an image without a description: acceptable if the answering model sees it.
func (r *Reader) unseen() error {
	if r.options.Sees {
		return nil
	}
	return blind
}

// ask sends an image and a question to the model. It stops reading after maxDescription, and cancels the rest.
func (r *Reader) ask(ctx context.Context, question string, picture llm.File) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var said strings.Builder
	req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: question, Images: []llm.File{picture}}}}
	for c, err := range r.options.Vision.Generate(ctx, req) {
		if err != nil {
			return "", err
		}
		if said.WriteString(c.Text); said.Len() > maxDescription {
			break
		}
	}
	return said.String(), nil
}

// parts splits a description into its tagged parts: a title, a short description, and a detailed text. A description
// without tags is returned as a whole.
func parts(said string) (title, description, text string) {
	title, description, text = within(said, "title"), within(said, "description"), within(said, "text")
	switch {
	case description != "":
		return title, description, text
	case text != "":
		return title, text, ""
	}
	return "", strings.TrimSpace(said), ""
}

// within returns the text between two tags, or "". It does not parse XML, because models often write it incorrectly.
func within(said, tag string) string {
	_, rest, _ := strings.Cut(said, "<"+tag+">")
	inner, _, _ := strings.Cut(rest, "</"+tag+">")
	return strings.TrimSpace(inner)
}

// Pictures implements [attachment.Reader]. It fetches at most most images at the same time.
func (r *Reader) Pictures(ctx context.Context, connector string, files []chat.Attachment, most int) (shown []llm.File, fetched []chat.Attachment) {
	for _, f := range files {
		if kindOf(f.Type, f.Name) == picture && f.Unread == "" && len(fetched) < most {
			fetched = append(fetched, f)
		}
	}
	found := make([]llm.File, len(fetched))
	var work sync.WaitGroup
	for i := range fetched {
		work.Go(func() { found[i] = r.show(ctx, connector, &fetched[i]) })
	}
	work.Wait()
	for _, b := range found {
		if b.Data != nil {
			shown = append(shown, b)
		}
	}
	return shown, fetched
}

// show fetches an image for the answering model, or records why it can't be used.
func (r *Reader) show(ctx context.Context, connector string, f *chat.Attachment) (found llm.File) {
	err := r.inPlace(ctx, func(ctx context.Context) error {
		b, err := r.fetch(ctx, connector, *f)
		if err != nil {
			return err
		}
		media := http.DetectContentType(b.Data)
		if !pictureTypes[media] {
			return refusal(b.Data, picture)
		}
		if err := checkPicture(b.Data); err != nil {
			return err
		}
		found = llm.File{Name: f.Name, Type: media, Data: b.Data}
		return nil
	})
	if err == nil {
		return found
	}
	f.Unread = reason(err)
	if r.options.Log != nil {
		r.options.Log.Warn("an image can't be sent to the model", "connector", connector, "ref", f.Ref, "err", err)
	}
	return llm.File{}
}
