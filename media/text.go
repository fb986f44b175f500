package media

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDocument is the number of bytes of a document that are decoded: more than maxText characters take in any encoding.
const maxDocument = 1 << 20

// The byte order marks of Unicode.
var (
	bomUTF8    = []byte{0xef, 0xbb, 0xbf} // never changed, as the next
	bomUTF16LE = []byte{0xff, 0xfe}
	bomUTF16BE = []byte{0xfe, 0xff}
)

// isText reports whether data is text: UTF-16 with a byte order mark, or data without NUL and with at most one percent
// of other control characters. Escape is allowed.
func isText(data []byte) bool {
	if bytes.HasPrefix(data, bomUTF16LE) || bytes.HasPrefix(data, bomUTF16BE) {
		return true
	}
	head := data[:min(len(data), maxDocument)]
	odd := 0
	for _, b := range head {
		if b == 0 {
			return false
		}
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1b {
			odd++
		}
	}
	return odd*100 <= len(head)
}

// plainText decodes a text document. Text that is not Unicode is read as Windows-1252, which the web also uses for
// Latin-1.
func plainText(data []byte) (string, error) {
	data = data[:min(len(data), maxDocument)]
	switch {
	case bytes.HasPrefix(data, bomUTF16LE):
		return fromUTF16(data[2:], binary.LittleEndian), nil
	case bytes.HasPrefix(data, bomUTF16BE):
		return fromUTF16(data[2:], binary.BigEndian), nil
	}
	data = bytes.TrimPrefix(data, bomUTF8)
	if utf8.Valid(data) || len(data) > utf8.UTFMax && utf8.Valid(wholeRunes(data)) {
		return string(wholeRunes(data)), nil
	}
	return fromWindows(data), nil
}

// wholeRunes removes an incomplete character from the end of data, which the limit may have cut.
func wholeRunes(data []byte) []byte {
	for n := 1; n <= min(utf8.UTFMax, len(data)); n++ {
		if b := data[len(data)-n:]; utf8.RuneStart(b[0]) {
			if !utf8.FullRune(b) {
				return data[:len(data)-n]
			}
			return data
		}
	}
	return data
}

// fromUTF16 decodes UTF-16. A half unit at the end is dropped.
func fromUTF16(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}

// windows lists the characters of Windows-1252 from 0x80 to 0x9f. The others are those of Latin-1.
const windows = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

func fromWindows(data []byte) string {
	table := []rune(windows)
	var b strings.Builder
	for _, c := range data {
		if c >= 0x80 && c < 0xa0 {
			b.WriteRune(table[c-0x80])
		} else {
			b.WriteRune(rune(c))
		}
	}
	return b.String()
}
