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

// extensions tell the kind of files whose type says nothing. Names are only ever looked at, never used (SE-05).
var extensions = map[string]kind{ // never changed
	".png": picture, ".jpg": picture, ".jpeg": picture, ".gif": picture, ".webp": picture,
	".ogg": sound, ".oga": sound, ".opus": sound, ".mp3": sound, ".m4a": sound, ".wav": sound, ".flac": sound,
	".mp4": film, ".mov": film, ".webm": film, ".mkv": film,
	".pdf": pdfDocument,
}

// kindOf is what a file claims to be. What says nothing may be a document: its content decides.
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

// foundKind is what a file is. Only sound is believed on its word, as formats of sound are many: its model sees what comes of it.
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

// pictureTypes are those that models that see take.
var pictureTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true} // never changed
