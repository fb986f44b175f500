package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"parley/connectors"
	"parley/core/chat"
	"parley/core/llm"
)

const (
	maxImages    = 4
	maxImage     = 5 << 20  // characters of base64
	maxImageName = 255      // characters
	maxShelf     = 64 << 20 // bytes of all cached images
	wordless     = "Please describe the attached image."
	largeImage   = "Images may be at most 5 MiB (base64)."
)

// picture is an image in a request.
type picture struct {
	Data     string `json:"data"` // base64
	MimeType string `json:"mimeType"`
	Name     string `json:"name"`
}

// image is a decoded image.
type image struct {
	data     []byte
	mimeType string
	name     string
}

// addImage reads the next image of the body. It refuses an image over the limit before reading it.
func (q *question) addImage(dec *json.Decoder) error {
	if len(q.Images) == maxImages {
		return &refusal{http.StatusBadRequest, "At most 4 images per message."}
	}
	var p picture
	err := readObject(dec, p.field)
	if errors.Is(err, errToken) {
		return &refusal{http.StatusRequestEntityTooLarge, largeImage}
	} else if err != nil {
		return err
	}
	i, no := p.decode()
	if no != nil {
		return no
	}
	q.Images = append(q.Images, i)
	return nil
}

// field reads one member of an image into p.
func (p *picture) field(dec *json.Decoder, key string) error {
	switch key {
	case "data":
		return dec.Decode(&p.Data)
	case "mimeType":
		return dec.Decode(&p.MimeType)
	case "name":
		return dec.Decode(&p.Name)
	}
	return skipValue(dec)
}

// decode checks an image and decodes its base64.
func (p picture) decode() (image, *refusal) {
	switch {
	case strings.HasPrefix(p.Data, "data:"):
		return image{}, &refusal{http.StatusBadRequest, "Send images as plain base64, without \"data:\"."}
	case len(p.Data) > maxImage:
		return image{}, &refusal{http.StatusRequestEntityTooLarge, largeImage}
	case !slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, p.MimeType):
		return image{}, &refusal{http.StatusBadRequest, "Images must be JPEG, PNG, GIF or WebP."}
	case utf8.RuneCountInString(p.Name) > maxImageName:
		return image{}, &refusal{http.StatusBadRequest, "Image names may be at most 255 characters."}
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	if err != nil || len(data) == 0 {
		return image{}, &refusal{http.StatusBadRequest, "An image is not valid base64."}
	}
	return image{data, p.MimeType, p.Name}, nil
}

// shelve caches the images of a message until they are read.
func (w *Web) shelve(id chat.MemoryID, images []image) (files []chat.Attachment) {
	for n, i := range images {
		ref := fmt.Sprintf("%s/%d", id, n)
		w.shelf.put(ref, i.data)
		files = append(files, chat.Attachment{Ref: ref, Name: i.name, Type: i.mimeType, Size: int64(len(i.data))})
	}
	return files
}

var _ connectors.Fetcher = (*Web)(nil)

// Fetch implements [connectors.Fetcher]. Images are only cached: a new process has none, and older ones are evicted.
func (w *Web) Fetch(_ context.Context, f chat.Attachment, limit int64) (llm.File, error) {
	data, ok := w.shelf.get(f.Ref)
	switch {
	case !ok:
		return llm.File{}, fmt.Errorf("%w: uploaded images are only kept for a short time", chat.ErrNotFound)
	case int64(len(data)) > limit:
		return llm.File{}, chat.ErrTooLarge
	}
	return llm.File{Name: f.Name, Type: f.Type, Data: data}, nil
}

// imageCache holds a bounded number of bytes and evicts the oldest images. Its zero value is empty.
type imageCache struct {
	mu    sync.Mutex
	files map[string][]byte
	order []string // oldest first
	size  int
}

// put stores data unless the name is taken.
func (s *imageCache) put(ref string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[ref] != nil {
		return
	}
	if s.files == nil {
		s.files = map[string][]byte{}
	}
	s.files[ref], s.order, s.size = data, append(s.order, ref), s.size+len(data)
	for s.size > maxShelf {
		s.size -= len(s.files[s.order[0]])
		delete(s.files, s.order[0])
		s.order = s.order[1:]
	}
}

func (s *imageCache) get(ref string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.files[ref]
	return data, ok
}
