// Package markdown reads the Markdown that models write and shows it on platforms that know other markup, less of it,
// or none.
//
// A text is cut into pieces that end for good as soon as their last line is there, each piece is parsed on its own, and
// what comes of it is laid out in a [Dialect] and packed into parts. So a text that grows costs only what is new, and
// what was shown of a finished piece stays. A [Renderer] does all of it.
package markdown

// Piece is a block, an item of a list, or what fits into memory of a block that is very long.
type Piece struct {
	Block Block
	Joint Joint

	preview bool // it is shown for now, where there is room
}

// Joint says how a piece goes on from the one before.
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
		nested         bool // it goes on from an item that was too long
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

// Inline is one of [Text], [Break], [Span], [Styled] and [Link].
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
