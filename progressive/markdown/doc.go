// Package markdown reads the Markdown that models write and shows it on platforms that have other markup, less of it,
// or none.
//
// The text grows while it is read, and users see it meanwhile. Two requirements follow. The cost must be that of the
// new text. The content of a finished message must not change, because messages that are full can't be edited for each
// word. So the work is done in steps. Each step finishes the parts that no later text can change:
//
//	text ─cleaner─► clean text ─segmenter─► segments ─reader─► pieces ─flow─► atoms ─packer─► parts
//
// The segmenter cuts the text where blocks end, line by line; goldmark parses each segment on its own. The flow lays
// pieces out in a [Dialect], as words with the marks around them. The packer fills parts within [Limits]; where it ends
// a part depends only on the atoms up to there. The open end of the text is treated apart in each step: half-written
// markup is closed or held back (undecided, scanner), and only what keeps its meaning may fill a part.
//
// A [Renderer] does all of it. Its result is a function of the text and of whether it is complete, not of how the text
// arrived.
//
// The text is untrusted. Control characters are removed, addresses are not hidden behind words that look like another
// address, and input that would be slow to parse is taken as words.
package markdown

// Piece is a block, an item of a list at the top level, or a part of a block that is very long. Blocks are cut so that
// one without an end does not have to be parsed again for each word.
type Piece struct {
	Block Block
	Joint Joint

	preview bool // it is shown for now, where there is room
}

// Joint is how a piece is connected with the one before.
type Joint uint8

// The joints.
const (
	Apart    Joint = iota // with a blank line between
	NextLine              // on the next line: the next item of a list, the next lines of the same code or table
	SameLine              // without a gap: a line was too long
)

// Block is one of [Paragraph], [Heading], [List], [Quote], [Code], [Table], [Rule] and [Math].
type Block interface{ block() }

// The blocks.
type (
	Paragraph struct{ Text []Inline }
	Heading   struct {
		Level int // 1 to 6
		Text  []Inline
	}
	// List is a list, or one item of a list at the top level.
	List struct {
		Ordered bool
		Start   int // number of the first item
		Items   []Item
	}
	Quote struct{ Blocks []Piece }
	// Code is a block of code, without a newline at its end.
	Code struct {
		Language, Text string
		nested         bool // it continues an item that was too long
	}
	// Table has as many cells in every row as in its head. A piece of a longer table repeats the head.
	Table struct {
		Align []Align
		Head  [][]Inline
		Rows  [][][]Inline
	}
	Rule struct{}
	// Math is a formula as it was written, with the marks around it.
	Math struct{ Text string }
)

func (Paragraph) block() {}
func (Heading) block()   {}
func (List) block()      {}
func (Quote) block()     {}
func (Code) block()      {}
func (Table) block()     {}
func (Rule) block()      {}
func (Math) block()      {}

// Item is an item of a list.
type Item struct {
	Joint  Joint
	Task   Task
	Blocks []Piece
}

// Task reports whether an item is something to do.
type Task uint8

// The tasks.
const (
	NoTask Task = iota
	OpenTask
	DoneTask
)

// Align is how the cells of a column stand.
type Align uint8

// The alignments.
const (
	Left Align = iota
	Center
	Right
)

// Inline is one of [Text], [Break], [Span], [Styled] and [Link]. A nil or empty list is no text.
type Inline interface{ inline() }

// The inlines.
type (
	Text   string
	Break  struct{}
	Span   string // code within a line
	Styled struct {
		Style Kind // Strong, Emphasis, Strike or Spoiler
		Text  []Inline
	}
	Link struct {
		URL   string
		Text  []Inline
		Image bool // it led to an image
		Bare  bool // it was written as its address alone
	}
)

func (Text) inline()   {}
func (Break) inline()  {}
func (Span) inline()   {}
func (Styled) inline() {}
func (Link) inline()   {}
