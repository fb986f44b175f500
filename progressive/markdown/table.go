package markdown

import (
	"strings"

	"github.com/rivo/uniseg"
)

const (
	mostColumns = 60       // of a table that is shown in columns
	mostTable   = 16 << 10 // bytes of columns that are laid out together
)

// table shows a table in aligned columns, as code, or row by row if it is too wide for that. Rows are laid out in
// groups that are not cut, so that the widths of a group stay once another one has begun. Once rows were shown one by
// one, the rest of the table is too.
func (f *flow) table(t Table) {
	if !f.goesOn {
		f.wide, f.number = false, 0
	}
	if f.wide {
		f.rows(t, t.Rows)
		return
	}
	g := columns{f: f, align: t.Align, name: texts(t.Head)}
	if f.number == 0 {
		g.add(g.name, true)
	}
	for i, row := range t.Rows {
		cells := texts(row)
		if g.fits(cells) {
			g.add(cells, false)
			continue
		}
		begin := i - len(g.rows) // where the open group began
		if g.head {
			begin = 0
		}
		if f.number == 0 && g.tooWide(cells) || g.alone(cells) {
			f.wide = true
			f.rows(t, t.Rows[begin:])
			return
		}
		g.flush()
		g.add(cells, false)
	}
	if g.tooWide(nil) {
		f.wide = true
		f.rows(t, t.Rows)
		return
	}
	g.flush()
}

// texts returns the visible text of cells, each in one line.
func texts(cells [][]Inline) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = strings.Join(strings.Fields(flat(c, true)), " ")
	}
	return out
}

// columns is a group of rows that are laid out together.
type columns struct {
	f      *flow
	align  []Align
	name   []string
	rows   [][]string
	head   bool // the first row is the head
	widths []int
	size   cost // of the cells, without what aligns them
}

// alone reports whether row does not even fit into a group of its own.
func (g *columns) alone(row []string) bool {
	own := columns{f: g.f, align: g.align, name: g.name}
	return !own.fits(row)
}

// add adds a row.
func (g *columns) add(row []string, head bool) {
	g.widths, g.size = g.grown(row)
	g.rows = append(g.rows, row)
	g.head = g.head || head
}

// grown returns the widths of the columns and the size of the cells with one more row.
func (g *columns) grown(row []string) ([]int, cost) {
	widths, size := make([]int, len(g.name)), g.size
	copy(widths, g.widths)
	for i, s := range row[:min(len(row), len(widths))] {
		widths[i] = max(widths[i], uniseg.StringWidth(s))
		size = size.plus(g.f.d.measure(g.f.d.escape(s, 0, len(s), Place{InCode: true}), s))
	}
	return widths, size
}

// tooWide reports whether the rows and one more are wider than a phone or the terminal shows without wrapping, which
// would destroy the columns.
func (g *columns) tooWide(row []string) bool {
	widths, _ := g.grown(row)
	most := mostColumns
	if w := g.f.d.Width; w > 0 {
		most = min(most, w)
	}
	return total(widths) > most
}

// fits reports whether one more row can be laid out with the others, so that they take not more than half of a part.
func (g *columns) fits(row []string) bool {
	if g.tooWide(row) {
		return false
	}
	widths, size := g.grown(row)
	lines := len(g.rows) + 2
	size.length += lines * (total(widths) + 1)
	size.raw += lines * (total(widths) + 1)
	l := g.f.l
	return (l.Length == 0 || size.length <= l.Length/2) && (l.Raw == 0 || size.raw <= l.Raw/2) && size.raw <= mostTable
}

// flush lays the rows out.
func (g *columns) flush() {
	if len(g.rows) == 0 {
		return
	}
	var b strings.Builder
	for i, row := range g.rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(g.line(row))
		if i == 0 && g.head {
			b.WriteByte('\n')
			b.WriteString(g.rule())
		}
	}
	g.f.gap(1)
	from := len(g.f.atoms)
	g.f.goesOn = false
	g.f.verbatim("", b.String())
	for i := from + 1; i < len(g.f.atoms); i++ {
		g.f.atoms[i].cut = never
	}
	g.f.loosen(from)
	g.f.number += len(g.rows)
	g.rows, g.widths, g.head, g.size = nil, nil, false, cost{}
}

// line returns a row with its cells aligned.
func (g *columns) line(row []string) string {
	cells := make([]string, len(g.widths))
	for i := range cells {
		left, right := 0, g.widths[i]-uniseg.StringWidth(row[i])
		switch g.align[i] {
		case Right:
			left, right = right, 0
		case Center:
			left, right = right/2, right-right/2
		}
		cells[i] = spaces(left) + row[i] + spaces(right)
	}
	return strings.TrimRight(strings.Join(cells, " │ "), " ")
}

// rule returns the line below the head.
func (g *columns) rule() string {
	rules := make([]string, len(g.widths))
	for i, n := range g.widths {
		rules[i] = strings.Repeat("─", n)
	}
	return strings.Join(rules, "─┼─")
}

// total returns the width of a row, with three columns between two cells.
func total(widths []int) int {
	n := 3 * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

// loosen marks the atoms from on as ones that more text of their block may change.
func (f *flow) loosen(from int) {
	for i := from; i < len(f.atoms); i++ {
		f.atoms[i].loose = true
	}
}

// rows shows a table row by row: each cell on a line, after the name of its column.
func (f *flow) rows(t Table, rows [][][]Inline) {
	if len(rows) == 0 { // a head alone
		defer f.loosen(len(f.atoms))
		f.gap(1)
		for i, name := range t.Head {
			if i > 0 {
				f.words(" │ ", Place{})
			}
			f.inlines(name)
		}
	}
	for _, row := range rows {
		f.gap(2)
		for i, cell := range row {
			if nothing(flat(cell, true)) {
				continue
			}
			f.gap(1)
			if len(t.Head) > i && !nothing(flat(t.Head[i], true)) {
				f.in(Mark{Kind: Strong}, func() { f.inlines(t.Head[i]) })
				f.words(": ", Place{})
				f.cut = never
			}
			f.inlines(cell)
		}
		f.number++
	}
}
