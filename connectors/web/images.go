package web

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/core/text"
)

const (
	maxImages    = 4
	maxImage     = 5 << 20 // characters of base64
	maxImageName = 255     // characters
	wordless     = "Please describe the attached image."
	largeImage   = "Images may be at most 5 MiB (base64)."
)

// picture is an image in a request.
type picture struct {
	Data     string `json:"data"` // base64
	MimeType string `json:"mimeType"`
	Name     string `json:"name,omitempty"`
}

// image is a decoded image.
type image struct {
	data     []byte
	mimeType string
	name     string
}

// addImage reads the next image of the body. It refuses an image over the limit before reading all of it, and one too
// many before reading any of it.
func (q *question) addImage(dec *json.Decoder) error {
	if len(q.Images) == maxImages {
		return refused(http.StatusBadRequest, "refused.many_images")
	}
	var p picture
	err := readObject(dec, p.field)
	if errors.Is(err, errToken) {
		return refused(http.StatusRequestEntityTooLarge, largeImage)
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

// decode checks an image and decodes its base64. The claimed type is only a first check: the stored type is that of the
// content, see pictureType.
func (p picture) decode() (image, *refusal) {
	switch {
	case strings.HasPrefix(p.Data, "data:"):
		return image{}, refused(http.StatusBadRequest, "Send images as plain base64, without \"data:\".")
	case len(p.Data) > maxImage:
		return image{}, refused(http.StatusRequestEntityTooLarge, largeImage)
	case !slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, p.MimeType):
		return image{}, refused(http.StatusBadRequest, "Images must be JPEG, PNG, GIF or WebP.")
	case utf8.RuneCountInString(p.Name) > maxImageName:
		return image{}, refused(http.StatusBadRequest, "Image names may be at most 255 characters.")
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	if err != nil || len(data) == 0 {
		return image{}, refused(http.StatusBadRequest, "An image is not valid base64.")
	}
	return image{data, p.MimeType, text.OneLine(p.Name, maxImageName)}, nil
}
