package markdown

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// joiner is U+2060, which breaks a mention: it takes no room, allows no line break within the name, and no platform
// removes it or takes it for a part of a name.
const joiner = "\u2060"

// breakMentions removes the effect from each @name in words that does not belong to an e-mail address, unless notify
// allows the name. A model that was told to, or that repeats what it has read, must not notify strangers. Names are
// those of Telegram: ASCII letters, digits and underscores, after an @ that follows no letter. A name at the end of
// text may continue in another run, so it is treated as if it did.
func breakMentions(text string, notify func(name string) bool) string {
	if strings.IndexByte(text, '@') < 0 {
		return text
	}
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '@' || endsInLetter(text[:i]) {
			continue
		}
		end := i + 1
		for end < len(text) && nameByte(text[end]) {
			end++
		}
		switch name := text[i+1 : end]; {
		case name == "" && end < len(text):
		case name != "" && notify != nil && notify(name):
			if end == len(text) {
				b.WriteString(text[from:end] + joiner)
				from = end
			}
		default:
			b.WriteString(text[from:i+1] + joiner)
			from = i + 1
		}
	}
	b.WriteString(text[from:])
	return b.String()
}

// endsInLetter reports whether an @ after text begins no name, since it belongs to an e-mail address.
func endsInLetter(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// surelyLink reports whether every client takes the whole of an address that is shown as it is for a link, so that an @
// within it begins no name. In doubt it is broken, which costs only the link.
func surelyLink(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	if _, top, ok := strings.Cut(u.Host, "."); !ok || strings.Trim(top, ".") == "" {
		return false
	}
	return strings.Trim(u.Host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") == "" &&
		strings.Trim(address, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#@&=+%") == ""
}
