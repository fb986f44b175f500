package web

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"parley/connectors"
	"parley/core"
)

const (
	maxImages    = 4
	maxImage     = 5 << 20  // characters of base64
	maxImageName = 255      // characters
	maxShelf     = 64 << 20 // bytes of all pictures that wait
	wordless     = "Please describe the attached image."
)

// picture is one that a page sends.
type picture struct {
	Data     string `json:"data"` // base64
	MimeType string `json:"mimeType"`
	Name     string `json:"name"`
}

// decode judges a picture, and unpacks its base64.
func (p picture) decode() ([]byte, *refusal) {
	switch {
	case strings.HasPrefix(p.Data, "data:"):
		return nil, &refusal{http.StatusBadRequest, "An image is plain base64, without \"data:\"."}
	case len(p.Data) > maxImage:
		return nil, &refusal{http.StatusRequestEntityTooLarge, "An image may have 5 MiB of base64."}
	case !slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, p.MimeType):
		return nil, &refusal{http.StatusBadRequest, "An image is a JPEG, PNG, GIF or WebP."}
	case utf8.RuneCountInString(p.Name) > maxImageName:
		return nil, &refusal{http.StatusBadRequest, "The name of an image may have 255 characters."}
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	if err != nil || len(data) == 0 {
		return nil, &refusal{http.StatusBadRequest, "An image is not base64."}
	}
	return data, nil
}

// shelve keeps the pictures of a message until they are read.
func (w *Web) shelve(id core.MemoryID, pictures []picture) (files []core.File, no *refusal) {
	if len(pictures) > maxImages {
		return nil, &refusal{http.StatusBadRequest, "A message may have 4 images."}
	}
	all := make([][]byte, len(pictures))
	for i, p := range pictures {
		if all[i], no = p.decode(); no != nil {
			return nil, no
		}
	}
	for i, p := range pictures {
		ref := fmt.Sprintf("%s/%d", id, i)
		w.shelf.put(ref, all[i])
		files = append(files, core.File{Ref: ref, Name: p.Name, Type: p.MimeType, Size: int64(len(all[i]))})
	}
	return files, nil
}

var _ connectors.Fetcher = (*Web)(nil)

// Fetch implements [connectors.Fetcher]. Pictures are not stored: a new process has none, nor has an old one those that had to
// make room.
func (w *Web) Fetch(_ context.Context, f core.File, limit int64) (core.Blob, error) {
	data, ok := w.shelf.get(f.Ref)
	switch {
	case !ok:
		return core.Blob{}, fmt.Errorf("%w: pictures are kept for a short time", core.ErrNotFound)
	case int64(len(data)) > limit:
		return core.Blob{}, core.ErrTooLarge
	}
	return core.Blob{Name: f.Name, Type: f.Type, Data: data}, nil
}

// shelf has a bounded number of bytes; the oldest make room. The zero shelf is empty.
type shelf struct {
	mu    sync.Mutex
	files map[string][]byte
	order []string // oldest first
	size  int
}

// put keeps data, unless there is something under its name already.
func (s *shelf) put(ref string, data []byte) {
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

func (s *shelf) get(ref string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.files[ref]
	return data, ok
}
