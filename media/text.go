package media

import "parley/internal/encoding"

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
