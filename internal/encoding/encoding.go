// Package encoding decodes texts whose encoding is not stated: files, pages and names in archives. It recognizes UTF-8,
// UTF-16 with or without a byte order mark, and the older encodings of the languages with most users. An encoding that
// can't be recognized is reported, so that no one reads garbage.
package encoding

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// The byte order marks of Unicode.
var (
	markUTF8    = []byte{0xef, 0xbb, 0xbf} // never changed, as the next
	markUTF16LE = []byte{0xff, 0xfe}
	markUTF16BE = []byte{0xfe, 0xff}
)

// The two byte orders of UTF-16.
var (
	littleEndian = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM) // never changed, as the next
	bigEndian    = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
)

// Decode returns a text as UTF-8, without a byte order mark. It is false if the encoding is unknown. The end of the data
// can be cut in the middle of a character.
func Decode(data []byte) (text string, known bool) {
	switch {
	case bytes.HasPrefix(data, markUTF16LE):
		return decode(littleEndian, data[2:]), true
	case bytes.HasPrefix(data, markUTF16BE):
		return decode(bigEndian, data[2:]), true
	}
	data = bytes.TrimPrefix(data, markUTF8)
	if whole := wholeRunes(data); utf8.Valid(whole) && isPrintable(whole) {
		return string(whole), true
	}
	if order := guessUTF16(data); order != nil {
		return decode(order, data), true
	}
	if e := guess(data, ofFiles); e != nil {
		return decode(e, data), true
	}
	return "", false
}

// Stated is Decode for a text that came with a media type, which can name its encoding.
func Stated(data []byte, mediaType string) (text string, known bool) {
	_, parameters, _ := mime.ParseMediaType(mediaType)
	if e, _ := charset.Lookup(parameters["charset"]); e != nil && e != encoding.Nop && !utf8.Valid(wholeRunes(data)) {
		return decode(e, data), true
	}
	return Decode(data)
}

// Page returns an HTML page as UTF-8. Its encoding is that of the byte order mark, the media type or the page itself, or
// else a guess.
func Page(data []byte, mediaType string) []byte {
	if utf8.Valid(data) && isPrintable(data) { // also if another encoding is stated: nothing else is valid UTF-8 by chance
		return data
	}
	e, _, certain := charset.DetermineEncoding(data, mediaType)
	if !certain {
		if text, known := Decode(data); known {
			return []byte(text)
		}
	}
	return []byte(decode(e, data))
}

// Names returns the names of files in an archive that does not state their encoding. They have the same one. Without a
// known one, the characters that are not ASCII are replaced by U+FFFD.
func Names(raw []string) (names []string, known bool) {
	all := []byte(strings.Join(raw, "\n"))
	if utf8.Valid(all) {
		return raw, true
	}
	e := guess(all, ofNames)
	for _, name := range raw {
		if e != nil {
			name = decode(e, []byte(name))
		}
		names = append(names, strings.ToValidUTF8(name, "\uFFFD"))
	}
	return names, e != nil
}

// IsText reports whether data is probably text in some encoding, not binary data. data can be the beginning of a file.
func IsText(data []byte) bool {
	if bytes.HasPrefix(data, markUTF16LE) || bytes.HasPrefix(data, markUTF16BE) {
		return true
	}
	return isPrintable(data) || guessUTF16(data) != nil
}

// isPrintable reports whether data has no NUL and at most one percent of other control characters. Escape is allowed.
func isPrintable(data []byte) bool {
	odd := 0
	for _, b := range data {
		if b == 0 {
			return false
		}
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1b {
			odd++
		}
	}
	return odd*100 <= len(data)
}

// decode decodes data. Invalid bytes become U+FFFD, except at the end, where a character can be cut.
func decode(e encoding.Encoding, data []byte) string {
	text, err := e.NewDecoder().Bytes(data)
	if err != nil { // the decoders replace invalid bytes
		return ""
	}
	return strings.TrimSuffix(string(text), "\uFFFD")
}

// wholeRunes removes an incomplete character from the end of data, which a limit may have cut.
func wholeRunes(data []byte) []byte {
	for n := 1; n <= min(utf8.UTFMax, len(data)); n++ {
		if b := data[len(data)-n:]; utf8.RuneStart(b[0]) {
			if n > 1 && !utf8.FullRune(b) || n == 1 && len(data) > utf8.UTFMax && !utf8.FullRune(b) {
				return data[:len(data)-n]
			}
			return data
		}
	}
	return data
}
