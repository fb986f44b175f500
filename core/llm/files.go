package llm

import (
	"encoding/base64"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"parley/core/text"
)

// File is a file with its content. Data must not be modified after it was passed on.
type File struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type"` // MIME type
	Data []byte `json:"data"`
	// Caption is a short line, without markup, that platforms can show with the file: the first sentence of a voice message.
	Caption string `json:"caption,omitempty"`
	// URL is an address where the receiver can fetch the content, in place of Data: only of files for a model.
	URL string `json:"url,omitempty"`
	// Past refers to the file in the store, instead of Data, in an answer that had ended before it was read: see
	// [storage.Files].
	Past *PastFile `json:"past,omitempty"`
}

// maxCaption is the length of a caption in characters.
const maxCaption = 200

// Spoken returns a voice message with the first sentence of its words as the caption.
func Spoken(voice File, words string) File {
	voice.Caption = text.FirstSentence(words, maxCaption)
	return voice
}

// Picture reports whether browsers interpret b as an image and nothing else.
func (b File) Picture() bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, b.Type)
}

// DataURL returns b as a data: URL, which pages show without a request, or its URL.
func (b File) DataURL() string {
	if b.URL != "" {
		return b.URL
	}
	return "data:" + b.Type + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
}

// kind returns the type of b. Image types are detected from the content only: a claimed type could make a browser run a
// script.
func (b File) kind() string {
	found := File{Type: http.DetectContentType(b.Data)}
	said, parameters, err := mime.ParseMediaType(b.Type)
	if err != nil || found.Picture() || strings.HasPrefix(said, "image/") {
		return found.Type
	}
	return mime.FormatMediaType(said, parameters)
}

const (
	MaxFile     = 8 << 20 // maximum size of a file shown by a call, because it travels with the answer's changes; bytes
	maxFileName = 100     // in bytes
)

// Showable returns the files that can be shown to users, each with its detected type instead of the claimed one.
func Showable(files []File) (all []File) {
	for _, b := range files {
		if n := len(b.Data); n > 0 && n <= MaxFile {
			all = append(all, File{Name: fileName(b.Name), Type: b.kind(), Data: b.Data, Caption: b.Caption})
		}
	}
	return all
}

// fileName returns the last element of name, in one line of limited length, with its extension, so that it can't be
// used as a path.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.Join(strings.Fields(text.Visible(name)), " "), `\`, "/"))
	if name == "." || name == ".." || name == "/" {
		return ""
	}
	ext := text.CutBytes(path.Ext(name), 16)
	return text.CutBytes(strings.TrimSuffix(name, path.Ext(name)), maxFileName-len(ext)) + ext
}

// PastFile is a file that a call has shown. Its content is read from [storage.Files].
type PastFile struct {
	N    int    `json:"n"` // its index among the answer's files, from 0
	Name string `json:"name,omitempty"`
	Type string `json:"type"`
	Size int    `json:"size"` // in bytes
	// Caption is that of [File].
	Caption string `json:"caption,omitempty"`
}
