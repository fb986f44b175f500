package telegramfake

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // for photos
	_ "image/png"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// Size limits of uploads in bytes, and of photos in pixels (the reference's "Sending files" and sendPhoto).
const (
	maxUpload = 50_000_000
	maxPhoto  = 10_000_000
	maxSides  = 10_000
	maxRatio  = 20
)

// Upload is a file that the bot sent.
type Upload struct {
	Method string // the method that posts such a file: sendPhoto, sendAudio or sendDocument
	Name   string
	Type   string
	Data   []byte
	// Caption is below the file, with its entities.
	Caption  string
	Entities []Entity
}

// uploads moves the files out of a form, and adds their names to the parameters.
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
		_ = f.Close() // only read
		if err != nil {
			return nil, fmt.Errorf("file %q: %w", field, err)
		}
		params[field] = all[0].Filename
		files[field] = Upload{Name: all[0].Filename, Type: http.DetectContentType(data), Data: data}
	}
	return files, nil
}

// kinds maps the methods that post a file to its parameter and InputMedia type.
var kinds = map[string]string{"sendPhoto": "photo", "sendAudio": "audio", "sendVoice": "voice", "sendDocument": "document"}

// sendFile posts a file.
func (s *Server) sendFile(c *call) (any, error) {
	field := kinds[c.name]
	if other, attached := strings.CutPrefix(c.params[field], attach); attached {
		field = other
	}
	f, err := s.uploaded(c, field, c.name)
	if err != nil {
		return nil, err
	}
	if err := f.describe(c.params["caption"], c.params["parse_mode"]); err != nil {
		return nil, err
	}
	return s.send(c, Version{Upload: f})
}

// inputMedia returns the new file of an edit.
func (s *Server) inputMedia(c *call) (*Upload, error) {
	in, err := object[struct {
		Type, Media, Caption string
		Mode                 string `json:"parse_mode"`
	}](s, c, "media")
	switch {
	case err != nil:
		return nil, err
	case in == nil:
		return nil, s.rejectLocked(c, errors.New("parameter \"media\" is required"))
	}
	field, attached := strings.CutPrefix(in.Media, attach)
	if !attached {
		return nil, s.rejectLocked(c, errors.New("media is no upload: not modelled"))
	}
	for method, kind := range kinds {
		if kind == in.Type {
			f, err := s.uploaded(c, field, method)
			if err == nil {
				err = f.describe(in.Caption, in.Mode)
			}
			return f, err
		}
	}
	return nil, s.rejectLocked(c, fmt.Errorf("can't parse InputMedia: type %q is unsupported", in.Type))
}

// describe sets the caption of f.
func (u *Upload) describe(caption, mode string) (err error) {
	if caption == "" {
		return nil
	}
	if u.Caption, u.Entities, _, err = format(caption, strings.EqualFold(mode, "html"), nil); err == nil && units(u.Caption) > maxCaption {
		return badRequest("message caption is too long")
	}
	return err
}

// maxCaption is the length of a caption in UTF-16 units.
const maxCaption = 1024

const attach = "attach://"

// unattached returns the parameters except the files that another parameter refers to.
func (c *call) unattached() map[string]string {
	params := maps.Clone(c.params)
	for field := range c.files {
		if strings.Contains(c.params["media"], strconv.Quote(attach+field)) || c.params[kinds[c.name]] == attach+field {
			delete(params, field)
		}
	}
	return params
}

// uploaded returns the file of a request, as method would send it. Files already on the server, or to be downloaded by
// it, are not modeled.
func (s *Server) uploaded(c *call, field, method string) (*Upload, error) {
	f, ok := c.files[field]
	switch {
	case !ok || len(c.files) != 1:
		return nil, s.rejectLocked(c, errors.New(field+" is no upload, or not the only one: not modelled"))
	case len(f.Data) == 0:
		return nil, badRequest("file must be non-empty")
	case len(f.Data) > maxUpload:
		return nil, &apiError{code: http.StatusRequestEntityTooLarge, text: "Request Entity Too Large"}
	}
	f.Method = method
	switch method {
	case "sendPhoto":
		return &f, checkPhoto(f.Data)
	case "sendVoice":
		if f.Type = "audio/ogg"; !bytes.HasPrefix(f.Data, []byte("OggS")) {
			return nil, s.rejectLocked(c, errors.New("no Ogg file"))
		}
	case "sendAudio":
		if f.Type = audioTypes[strings.ToLower(path.Ext(f.Name))]; f.Type == "" {
			return nil, s.rejectLocked(c, fmt.Errorf("%q is neither an .mp3 nor an .m4a", f.Name))
		}
	}
	return &f, nil
}

// audioTypes are the playable types; the server goes by the file name.
var audioTypes = map[string]string{".mp3": "audio/mpeg", ".m4a": "audio/mp4"}

func checkPhoto(data []byte) error {
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case len(data) > maxPhoto:
		return badRequest("file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(data), maxPhoto)
	case err != nil:
		return badRequest("IMAGE_PROCESS_FAILED")
	case size.Width+size.Height > maxSides || max(size.Width, size.Height) > maxRatio*min(size.Width, size.Height):
		return badRequest("PHOTO_INVALID_DIMENSIONS")
	}
	return nil
}

// keep stores f and returns its fields in a message.
func (s *Server) keep(f *Upload) (all map[string]any) {
	id := s.addFileLocked(f.Name, f.Data, 0)
	fields := map[string]any{"file_id": id, "file_unique_id": "u" + id, "file_size": len(f.Data)}
	kind := kinds[f.Method]
	if f.Caption != "" {
		defer func() { all["caption"] = f.Caption }()
	}
	switch kind {
	case "photo":
		size, _, _ := image.DecodeConfig(bytes.NewReader(f.Data)) // decoded successfully before
		fields["width"], fields["height"] = size.Width, size.Height
		return map[string]any{kind: []any{fields}}
	case "audio":
		fields["duration"] = 1
	case "voice":
		fields["duration"], fields["mime_type"] = 1, f.Type
		return map[string]any{kind: fields}
	}
	fields["file_name"], fields["mime_type"] = f.Name, f.Type
	return map[string]any{kind: fields}
}
