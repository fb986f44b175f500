package markdown

import "strings"

// Kind is a kind of markup that holds text.
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

// Mark is markup around some text.
type Mark struct {
	Kind Kind
	URL  string // of an Anchor
	Info string // of a CodeBlock: its language; of a CodeSpan: what it holds
}

// Markup is how a platform writes a mark.
type Markup struct{ Open, Shut string }

// Place is where a character stands.
type Place struct {
	Start  bool // nothing but blanks and markup of blocks is before it in its line
	InCode bool // in a CodeSpan or CodeBlock
	InLink bool // in an Anchor
	Bare   bool // in an address that is shown as it is
}

// Dialect is what a platform reads. Its functions are pure and look only at their arguments; Escape looks no further
// than a few bytes around i. Make one from [HTML], [Light], [Plain] or [Terminal].
type Dialect struct {
	// Mark says how m is written; ok is false if the platform can't show it.
	Mark func(m Mark) (w Markup, ok bool)
	// Escape is how the character at text[i:end] is written, where text is all that stands in one piece.
	Escape func(text string, i, end int, at Place) string
	// Guard takes from words, which are neither code nor within a link, what would have an effect on the platform; nil if
	// nothing has. It changes nothing that people see.
	Guard func(words string) string
	// Links says whether an address may stand behind other words. One that may not is shown.
	Links func(url string) bool
	// Holds says whether inner works within outer; nil means always. Nothing is ever within itself or within code.
	Holds func(outer, inner Kind) bool
	// Heading is what stands before a heading of a level, and the styles it has.
	Heading func(level int) (before string, marks []Kind)
	// Bullet is the markup that begins an item, and how it reads.
	Bullet func(n int, l List, task Task) (written, read string)
	// Units measures text as the platform counts it. It must be additive.
	Units func(string) int

	QuotePrefix string // before each line of a quote, if quotes are no marks
	QuoteReads  string // as people read it
	Rule        string // a line that parts
	RuleReads   string // as people read it
	Between     string // parts two marks that would run into each other; empty if none do
	Tab         string // what a tab in code becomes
	Width       int    // columns after which lines are wrapped; 0 if the platform does it
	Read        bool   // Length counts what is read, not what is written
	Counts      bool   // marks count as entities
}

// Limits is what one part may have. What is 0 is not limited; otherwise Length must be at least 64, Raw at least 256
// and Entities at least 40.
type Limits struct {
	Length   int // in the dialect's units
	Raw      int // bytes of what is written
	Entities int // marks, as the platform cuts them where styles overlap
	Code     int // of one block of code; what is longer is an [Attachment]
}

// Rendered is one part.
type Rendered struct {
	Text  string // in the dialect
	Plain string // the same as people read it
}

// UTF16 measures s in UTF-16 units, which is never less than what platforms count as characters.
func UTF16(s string) (n int) {
	for _, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}

// safe says that an address may stand behind words at all (SE-06).
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
