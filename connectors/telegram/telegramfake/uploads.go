package telegramfake

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // what a photo may be
	_ "image/png"
	"io"
	"mime/multipart"
	"net/http"
)

// How large an upload may be in bytes, and a photo in pixels (the reference's "Sending files" and sendPhoto).
const (
	maxUpload = 50_000_000
	maxPhoto  = 10_000_000
	maxSides  = 10_000
	maxRatio  = 20
)

// Upload is a file that the bot sent.
type Upload struct {
	Method string // sendPhoto or sendDocument
	Name   string
	Type   string
	Data   []byte
}

// uploads takes the files out of a form, and puts their names among the parameters.
func uploads(form *multipart.Form, params map[string]string) (map[string]Upload, error) {
	files := map[string]Upload{}
	for field, all := range form.File {
		if len(all) != 1 {
			return nil, fmt.Errorf("file %q comes %d times", field, len(all))
		}
		f, err := all[0].Open()
		if err != nil {
			return nil, fmt.Errorf("file %q: %w", field, err)
		}
		data, err := io.ReadAll(f)
		_ = f.Close() // it was read
		if err != nil {
			return nil, fmt.Errorf("file %q: %w", field, err)
		}
		params[field] = all[0].Filename
		files[field] = Upload{Name: all[0].Filename, Type: http.DetectContentType(data), Data: data}
	}
	return files, nil
}

func (s *Server) sendPhoto(c *call) (any, error) {
	f, err := s.uploaded(c, "photo")
	if err != nil {
		return nil, err
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(f.Data))
	switch {
	case len(f.Data) > maxPhoto:
		return nil, badRequest("file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(f.Data), maxPhoto)
	case err != nil:
		return nil, badRequest("IMAGE_PROCESS_FAILED")
	case size.Width+size.Height > maxSides || max(size.Width, size.Height) > maxRatio*min(size.Width, size.Height):
		return nil, badRequest("PHOTO_INVALID_DIMENSIONS")
	}
	return s.send(c, Version{}, f)
}

func (s *Server) sendDocument(c *call) (any, error) {
	f, err := s.uploaded(c, "document")
	if err != nil {
		return nil, err
	}
	return s.send(c, Version{}, f)
}

// uploaded is the file of a request. Files that the server has already, or would fetch, are not modelled.
func (s *Server) uploaded(c *call, field string) (*Upload, error) {
	f, ok := c.files[field]
	switch {
	case !ok || len(c.files) != 1:
		return nil, s.rejectLocked(c, errors.New(field+" is no upload, or not the only one: not modelled"))
	case len(f.Data) == 0:
		return nil, badRequest("file must be non-empty")
	case len(f.Data) > maxUpload:
		return nil, &apiError{code: http.StatusRequestEntityTooLarge, text: "Request Entity Too Large"}
	}
	f.Method = c.name
	return &f, nil
}

// keep stores f and returns the fields that a message has of it.
func (s *Server) keep(f *Upload) map[string]any {
	id := s.addFileLocked(f.Name, f.Data, 0)
	fields := map[string]any{"file_id": id, "file_unique_id": "u" + id, "file_size": len(f.Data)}
	if f.Method == "sendPhoto" {
		size, _, _ := image.DecodeConfig(bytes.NewReader(f.Data)) // it was read before
		fields["width"], fields["height"] = size.Width, size.Height
		return map[string]any{"photo": []any{fields}}
	}
	fields["file_name"], fields["mime_type"] = f.Name, f.Type
	return map[string]any{"document": fields}
}
