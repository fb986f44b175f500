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

// File is a file with all that it holds. Its data is not changed once it was handed on.
type File struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type"` // MIME
	Data []byte `json:"data"`
	// Past names the file in the store instead of Data, in an answer that had ended before it was read: see [core.Files].
	Past *PastFile `json:"past,omitempty"`
}

const (
	MaxFile     = 8 << 20 // bytes of a file that a call shows: it travels with the changes of its answer
	maxFileName = 100     // bytes
)

// Picture says that browsers take b for a picture and nothing else.
func (b File) Picture() bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, b.Type)
}

// DataURL is b as pages show it without asking anybody.
func (b File) DataURL() string {
	return "data:" + b.Type + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
}

// Showable are the files that people can be shown, each as what it is, whatever it is called.
func Showable(files []File) (all []File) {
	for _, b := range files {
		if n := len(b.Data); n > 0 && n <= MaxFile {
			all = append(all, File{Name: fileName(b.Name), Type: b.kind(), Data: b.Data})
		}
	}
	return all
}

// kind is the type of b. That something is a picture is believed to its bytes only (SE-06).
func (b File) kind() string {
	found := File{Type: http.DetectContentType(b.Data)}
	said, parameters, err := mime.ParseMediaType(b.Type)
	if err != nil || found.Picture() || strings.HasPrefix(said, "image/") {
		return found.Type
	}
	return mime.FormatMediaType(said, parameters)
}

// fileName is the last element of name, in one line and not too long (SE-05). It keeps its extension.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.Join(strings.Fields(text.Visible(name)), " "), `\`, "/"))
	if name == "." || name == ".." || name == "/" {
		return ""
	}
	ext := text.CutBytes(path.Ext(name), 16)
	return text.CutBytes(strings.TrimSuffix(name, path.Ext(name)), maxFileName-len(ext)) + ext
}
