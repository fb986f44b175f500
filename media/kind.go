package media

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"parley/internal/encoding"
)

// kind is how a file is read.
type kind uint8

const (
	other kind = iota
	picture
	sound
	film
	document
	packed // what another process reads: see package parley/media/document
)

// extensions map the endings of names to kinds, for files without a useful type. A name is never used as a path.
var extensions = map[string]kind{ // never changed
	".png": picture, ".jpg": picture, ".jpeg": picture, ".gif": picture, ".webp": picture,
	".ogg": sound, ".oga": sound, ".opus": sound, ".mp3": sound, ".m4a": sound, ".wav": sound, ".flac": sound,
	".mp4": film, ".mov": film, ".webm": film, ".mkv": film,
	".pdf": packed, ".docx": packed, ".pptx": packed, ".xlsx": packed, ".odt": packed, ".zip": packed,
	".html": packed, ".htm": packed,
}

// kindOf returns the kind that a file claims to have, which decides whether it is fetched. A file without a useful type
// or name counts as a document: its content decides.
func kindOf(claimed, name string) kind {
	media, _, _ := mime.ParseMediaType(claimed)
	switch class, _, _ := strings.Cut(media, "/"); {
	case packedTypes[media]:
		return packed
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

// detectKind returns the kind that a file has by its content. Only a claim to be sound is believed, as there are too
// many formats of it to recognize: the model that transcribes rejects other data.
func detectKind(data []byte, claimed kind) kind {
	media := http.DetectContentType(data)
	switch {
	case bytes.HasPrefix(data, []byte("%PDF-")), bytes.HasPrefix(data, []byte("PK\x03\x04")), claimed == packed && isPage(data):
		return packed
	case pictureTypes[media]:
		return picture
	case claimed == sound && !strings.HasPrefix(media, "text/html"):
		return sound
	case (claimed == document || claimed == packed) && isText(data):
		return document
	}
	return other
}

// refusal returns why content of no known kind can't be read. An image in a format that models don't accept is not damaged.
func refusal(data []byte, claimed kind) unread {
	media := http.DetectContentType(data)
	brand := data[min(len(data), 8):min(len(data), 12)]
	isHEIF := bytes.HasPrefix(data[min(len(data), 4):], []byte("ftyp")) && slices.Contains([]string{"heic", "heix", "hevc", "heim", "mif1", "msf1", "avif", "avis"}, string(brand))
	if isHEIF || strings.HasPrefix(media, "image/") || claimed == picture && media == "application/octet-stream" {
		return unsupported
	}
	return strange
}

// isPage reports whether data is a whole HTML page. A part of one is read as text, as other source code is.
func isPage(data []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(data[:min(len(data), 512)], []byte("\xef\xbb\xbf"))))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}

// packedTypes are the media types of documents that need a parser.
var packedTypes = map[string]bool{ // never changed
	"application/pdf": true, "application/zip": true, "application/x-zip-compressed": true, "text/html": true, "application/xhtml+xml": true,
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   true,
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": true,
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         true,
	"application/vnd.oasis.opendocument.text":                                   true,
}

// pictureTypes are the media types that models with image input accept.
var pictureTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true} // never changed

// maxDocument is the number of bytes of a document that are decoded: more than maxText characters take in any encoding.
const maxDocument = 1 << 20

// isText reports whether data is text.
func isText(data []byte) bool { return encoding.IsText(data[:min(len(data), maxDocument)]) }

// plainText decodes a text document.
func plainText(data []byte) (string, error) {
	text, known := encoding.Decode(data[:min(len(data), maxDocument)])
	if !known {
		return "", garbled
	}
	return text, nil
}
