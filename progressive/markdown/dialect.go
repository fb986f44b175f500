package markdown

import "strings"

// Kind is a type of markup with content.
type Kind uint8

// The kinds.
const (
	Strong Kind = iota
	Emphasis
	Strike
	Spoiler
	CodeSpan
	Anchor     // a link with words of its own
	CodeBlock  // a block of code
	QuoteBlock // a quote
)

// Mark is markup around a text. It is comparable.
type Mark struct {
	Kind Kind
	URL  string // of an Anchor
	Info string // of a CodeBlock: its language; of a CodeSpan: its content
	Long bool   // of a QuoteBlock: it takes more than a few lines
}

// Markup is the notation of a mark on a platform.
type Markup struct{ Open, Shut string }

// Place is the context of a character.
type Place struct {
	Start  bool // only blanks and block markup precede it in its line
	InCode bool // within a CodeSpan or CodeBlock
	InLink bool // within an Anchor
	Bare   bool // within a URL that is shown as it is
}

// Dialect is the markup language of a platform. Its functions are pure; Escape looks no further than a few bytes around
// i. Create one with [HTML], [Light], [Plain] or [Terminal].
type Dialect struct {
	// Mark returns the notation of m; ok is false if the platform can't show it.
	Mark func(m Mark) (w Markup, ok bool)
	// Escape returns the notation of the character at text[i:end], where text is an unbroken run.
	Escape func(text string, i, end int, at Place) string
	// Guard removes effects on the platform, such as mentions, from words, which are neither code nor within a link; it
	// doesn't change their appearance. Nil if there are no such effects.
	Guard func(words string) string
	// Links reports whether a URL can be hidden behind other words. Otherwise it is shown.
	Links func(url string) bool
	// Holds reports whether inner works within outer; nil means always. No mark is ever within itself or within code.
	Holds func(outer, inner Kind) bool
	// Heading returns the prefix and the styles of a heading of a level.
	Heading func(level int) (before string, marks []Kind)
	// Bullet returns the markup that begins an item, and its appearance.
	Bullet func(n int, l List, task Task) (written, read string)
	// Units returns the length of a text as the platform counts it. It must be additive.
	Units func(string) int

	// Blocks is the notation of a platform whose messages are lists of blocks. Then only Links and Units are used besides it, and
	// [Limits.Entities] is the number of blocks. Nil for the others.
	Blocks *Blocks

	QuotePrefix string // before each line of a quote, if quotes are not marks
	QuoteReads  string // as it appears
	Rule        string // a dividing line
	RuleReads   string // as it appears
	Between     string // separates two marks that would merge; empty if none do
	Tab         string // replaces a tab in code
	Width       int    // lines are wrapped after this many columns; 0 if the platform wraps them
	Read        bool   // Length counts the visible text, not the notation
	Counts      bool   // marks count as entities
}

// Limits are the limits of one part. 0 means no limit; otherwise Length must be at least 64, Raw at least 256 and
// Entities at least 40.
type Limits struct {
	Length   int // in the dialect's units
	Raw      int // bytes of the notation
	Entities int // marks, as the platform splits them where styles overlap
	Code     int // length of one code block; longer ones become an [Attachment]
}

// Rendered is one rendered part.
type Rendered struct {
	Text  string // in the dialect
	Plain string // the visible text
}

// UTF16 returns the length of s in UTF-16 units, which is never less than what platforms count as characters. Platforms
// count differently and don't document it fully, so the upper bound is used.
func UTF16(s string) (n int) {
	for _, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}

// safe reports whether an address may be put behind words at all: only the web and e-mail. Other schemes can start
// programs, and the excluded characters could end the markup of the link.
func safe(url string) bool {
	scheme, rest, ok := strings.Cut(url, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		return ok && strings.HasPrefix(rest, "//") && len(rest) > 2 && !strings.ContainsAny(url, " \t\n<>\"`\\")
	case "mailto":
		return ok && strings.Contains(rest, "@") && !strings.ContainsAny(url, " \t\n<>\"`\\")
	}
	return false
}
