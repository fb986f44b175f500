package markdown

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// Attachment is a block of code that is too long for a text, see [Limits].
type Attachment struct{ Name, Text string }

// longCode takes code out of a text that grows, piece by piece: of a block that is too long people see the beginning, and
// how long it is. So a view never shows less than the one before.
type longCode struct {
	d     *Dialect
	most  int
	names []string // of the blocks that are too long
	block codeBlock
}

// codeBlock is a block of code as far as it has come.
type codeBlock struct {
	name  string // empty without a block
	size  int
	lines int
	long  bool
}

// add is what is shown in place of p.
func (c *longCode) add(p Piece) (shown []Piece) {
	code, ok := p.Block.(Code)
	ok = ok && !code.nested
	if !ok || p.Joint == Apart {
		shown = c.end()
		c.block = codeBlock{}
	}
	if !ok || c.block.name == "" && p.Joint != Apart {
		return append(shown, p)
	}
	if c.block.name == "" {
		c.block.name = another(fileName(code), c.names)
	}
	room := c.most - c.block.size
	room -= c.block.grow(c.d, code, p.Joint)
	switch {
	case c.block.size <= c.most:
		return append(shown, p)
	case c.block.long:
		return shown
	}
	c.block.long = true
	c.names = append(slices.Clip(c.names), c.block.name)
	if code.Text = c.d.fitting(code.Text, room); code.Text != "" {
		code.Text += "…"
		shown = append(shown, Piece{code, p.Joint})
	}
	return shown
}

func (c *longCode) all(pieces []Piece) (shown []Piece) {
	for _, p := range pieces {
		shown = append(shown, c.add(p)...)
	}
	return shown
}

// end is what stands below the block of code, as long as nothing follows.
func (c *longCode) end() []Piece {
	if !c.block.long {
		return nil
	}
	return []Piece{c.block.line()}
}

// grow counts another piece of the block, and returns what it costs to join it.
func (b *codeBlock) grow(d *Dialect, code Code, joint Joint) (join int) {
	if joint == NextLine {
		join = 1
	}
	b.size += join + d.Units(code.Text)
	b.lines += strings.Count(code.Text, "\n")
	if joint != SameLine {
		b.lines++
	}
	return join
}

// line stands for the block: as code, since "main.py" is a name of a country too.
func (b *codeBlock) line() Piece {
	noun := "lines"
	if b.lines == 1 {
		noun = "line"
	}
	return Piece{Block: Paragraph{[]Inline{Text("📎 "), Span(b.name), Text(fmt.Sprintf(", %d %s", b.lines, noun))}}}
}

// fitting is how much of text fits into a room, in whole characters.
func (d *Dialect) fitting(text string, room int) string {
	n := 0
	for rest, state := text, -1; rest != ""; {
		var c string
		c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if room -= d.Units(c); room < 0 {
			break
		}
		n += len(c)
	}
	return text[:n]
}

// attach takes the code that is too long out of a text that has ended, but for that with one of the names in kept. Each
// such block is one of the files.
func attach(pieces []Piece, d *Dialect, most int, kept []string) (rest []Piece, files []Attachment) {
	var names []string
	for i := 0; i < len(pieces); {
		n := blockAt(pieces[i:])
		block := codeBlock{}
		for _, p := range pieces[i : i+n] {
			if code, ok := p.Block.(Code); ok && !code.nested {
				block.grow(d, code, p.Joint)
			}
		}
		if block.size <= most {
			rest = append(rest, pieces[i:i+n]...)
		} else {
			block.name = another(fileName(pieces[i].Block.(Code)), names)
			names = append(names, block.name)
			files = append(files, Attachment{block.name, joined(pieces[i : i+n])})
			if slices.Contains(kept, block.name) {
				rest = append(rest, pieces[i:i+n]...)
			} else {
				rest = append(rest, block.line())
			}
		}
		i += n
	}
	return rest, files
}

// blockAt is how many pieces the first block has, if it is code.
func blockAt(pieces []Piece) int {
	first, ok := pieces[0].Block.(Code)
	if !ok || first.nested || pieces[0].Joint != Apart {
		return 1
	}
	n := 1
	for n < len(pieces) && pieces[n].Joint != Apart {
		if _, ok := pieces[n].Block.(Code); !ok {
			break
		}
		n++
	}
	return n
}

// joined is the code in pieces of one block.
func joined(pieces []Piece) string {
	var b strings.Builder
	for i, p := range pieces {
		if i > 0 && p.Joint == NextLine {
			b.WriteByte('\n')
		}
		b.WriteString(p.Block.(Code).Text)
	}
	b.WriteByte('\n')
	return b.String()
}

// another is name, with a number if it is taken.
func another(name string, taken []string) string {
	base, extension, _ := strings.Cut(name, ".")
	for n := 2; slices.Contains(taken, name); n++ {
		name = fmt.Sprintf("%s-%d.%s", base, n, extension)
	}
	return name
}
