package markdown

import (
	"bytes"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// bareForm is an address in the middle of words. Characters other than ASCII end it, so Chinese punctuation, fullwidth parentheses and
// typographic quotes behind an address are none of it.
var bareForm = regexp.MustCompile(`^https?://[-a-zA-Z0-9@:%._+~#=]{1,256}\.[a-z]+(?::\d+)?(?:[/#?][-a-zA-Z0-9@:%_+.~#$!?&/=();,'*\[\]{}^]*)?`)

// bareAddress returns the length of the address at text[i:], 0 if there is none; reach is its length before marks and punctuation at its
// end were taken off. opened returns the length of the run of marks that began the innermost style of a character, or 0: only such a mark
// can end the style within an address. All others are characters of the address.
func bareAddress(text string, i int, opened func(mark byte) int) (length, reach int) {
	if i > 0 && wordByte(text[i-1]) || !strings.HasPrefix(text[i:], "http") {
		return 0, 0
	}
	found := bareForm.FindString(text[i:])
	reach = len(found)
	if at := unopened(found); at >= 0 {
		found = found[:at]
	}
	for _, mark := range []byte("*_~") {
		if n := strings.Index(found, string(mark)+string(mark)); n >= 0 && opened(mark) > 1 {
			found = found[:n]
		}
	}
	return len(withoutEnd(found, opened)), reach
}

// unopened returns the index of the first closing bracket without an opening one, -1 if there is none: it ends the words of a link.
func unopened(address string) int {
	depth := 0
	for i := range len(address) {
		switch address[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return -1
}

// withoutEnd returns address without what at its end belongs to the words around it.
func withoutEnd(address string, opened func(mark byte) int) string {
	pairs := map[byte]string{')': "(", ']': "[", '}': "{"}
	for address != "" {
		last := address[len(address)-1]
		switch {
		case strings.IndexByte(".,:;!?'~", last) >= 0:
		case pairs[last] != "" && strings.Count(address, pairs[last]) < strings.Count(address, string(last)):
		case (last == '*' || last == '_') && opened(last) > 0:
		default:
			return address
		}
		address = address[:len(address)-1]
	}
	return ""
}

// addressParser reads bare addresses. It comes before the parser of styles, because * and _ within an address are no marks.
type addressParser struct{}

// Trigger implements [parser.InlineParser]. Letters can't be triggers, so an address is found at the colon behind its scheme.
func (addressParser) Trigger() []byte { return []byte{':'} }

// Parse implements [parser.InlineParser]. The scheme is a part of the text that was read before, and is taken from it.
func (addressParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	_, rest := block.PeekLine()
	read, ok := parent.LastChild().(*ast.Text)
	if !ok || read.Segment.Stop != rest.Start {
		return nil
	}
	src := block.Source()
	before := src[read.Segment.Start:rest.Start]
	from := read.Segment.Start + bytes.LastIndex(before, []byte("http"))
	if from < read.Segment.Start || from > 0 && wordByte(src[from-1]) {
		return nil
	}
	n, _ := bareAddress(string(src[from:min(rest.Stop, from+mostAddress)]), 0, func(mark byte) int {
		for d := pc.LastDelimiter(); d != nil; d = d.PreviousDelimiter {
			if d.Char == mark && d.CanOpen {
				return d.Length
			}
		}
		return 0
	})
	if from+n <= rest.Start {
		return nil
	}
	block.Advance(from + n - rest.Start)
	read.Segment.Stop = from
	return ast.NewAutoLink(ast.AutoLinkURL, ast.NewTextSegment(text.NewSegment(from, from+n)))
}

const mostAddress = 4096 // bytes of a bare address

// wordByte reports whether c is a letter or a digit of ASCII: no address begins behind one.
func wordByte(c byte) bool { return c != '_' && nameByte(c) }

// joiner is U+2060, which breaks a mention: it takes no room, allows no line break within the name, and no platform
// removes it or takes it for a part of a name.
const joiner = "\u2060"

// breakMentions removes the effect from each @name in words that does not belong to an e-mail address, unless notify
// allows the name. A model that follows instructions, or repeats earlier text, must not notify strangers. Names are
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
