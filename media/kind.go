package media

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"strings"
)

// kind is how a file is read.
type kind uint8

const (
	other kind = iota
	picture
	sound
	film
	document
	pdfDocument
)

// extensions determine the kind of files without a useful type. A name is never used as a path.
var extensions = map[string]kind{ // never changed
	".png": picture, ".jpg": picture, ".jpeg": picture, ".gif": picture, ".webp": picture,
	".ogg": sound, ".oga": sound, ".opus": sound, ".mp3": sound, ".m4a": sound, ".wav": sound, ".flac": sound,
	".mp4": film, ".mov": film, ".webm": film, ".mkv": film,
	".pdf": pdfDocument,
}

// kindOf returns the kind that a file claims to have. A file without a useful type or name may be a document: its content
// decides.
func kindOf(claimed, name string) kind {
	media, _, _ := mime.ParseMediaType(claimed)
	switch class, _, _ := strings.Cut(media, "/"); {
	case media == "application/pdf":
		return pdfDocument
	case media == "image/svg+xml", class == "text":
		return document
	case class == "image":
		return picture
	case class == "audio":
		return sound
	case class == "video":
		return film
	}
	if k, ok := extensions[strings.ToLower(path.Ext(name))]; ok && (media == "" || media == "application/octet-stream") {
		return k
	}
	return document
}

// foundKind returns the kind that a file has. Only a claim to be sound is accepted, because there are many formats of
// sound: the model that transcribes it rejects what is none.
func foundKind(data []byte, claimed kind) kind {
	media := http.DetectContentType(data)
	switch {
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return pdfDocument
	case pictureTypes[media]:
		return picture
	case claimed == sound && !strings.HasPrefix(media, "text/html"):
		return sound
	case claimed == document && isText(data):
		return document
	}
	return other
}

// pictureTypes are the types that models with image input accept.
var pictureTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true} // never changed
