package markdown

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// packer fills parts with atoms. Where it ends a part depends only on the atoms up to the first that does not fit: so
// it decides the same when more atoms follow, and a part that was shown stays.
type packer struct {
	d *Dialect
	l Limits
}

// next returns the part that starts with atoms: n whole atoms, and the first half of the next one if rest is not nil;
// rest is its second half. full is false if all atoms fit. Atoms from index unsure on are left out if the part doesn't
// hold them all: their final form is still undecided.
func (p *packer) next(atoms []atom, unsure int) (part Rendered, n int, rest *atom, full bool) {
	var best, sizes [qualities]int
	var size cost
	var last *atom
	for i := range atoms {
		a := &atoms[i]
		if i > 0 && a.cut > never {
			best[a.cut], sizes[a.cut] = i, size.length
		}
		grown := size.plus(p.step(last, a))
		if !a.droppable() && !p.l.within(p.closed(grown, a)) {
			if i >= unsure {
				half, _ := p.part(last, a, size)
				return p.write(atoms[:i], half), len(atoms), nil, false
			}
			n, half, rest := p.choose(atoms, i, best, sizes, size)
			return p.write(atoms[:n], half), n, rest, true
		}
		size, last = grown, a
	}
	return p.write(atoms, nil), len(atoms), nil, false
}

// droppable reports whether a is not needed at the beginning and end of a part.
func (a *atom) droppable() bool { return a.blank && !a.place.InCode }

// step returns the cost of a after last, with the markup and the margin between them. last is nil at the top of a part.
func (p *packer) step(last, a *atom) cost {
	if last != nil && last.frame == a.frame && a.lines == 0 {
		return a.cost
	}
	written, read, entities := p.between(last, a)
	c := p.d.measure(written, read)
	c.entities += entities
	return c.plus(a.cost)
}

// closed returns c with what closes the part after a: marks that are open at the end of a part are closed there, and
// opened again in the next one.
func (p *packer) closed(c cost, a *atom) cost {
	if a.frame == nil {
		return c
	}
	if a.margin != nil && a.frame.has(CodeBlock) {
		c = c.plus(p.d.measure(a.margin.written, ""))
	}
	return c.plus(a.frame.shut)
}

// withMargin returns the markup around code in a; its line breaks get the margin too.
func withMargin(markup string, a *atom) string {
	if a.margin == nil || a.margin.written == "" || !a.frame.has(CodeBlock) {
		return markup
	}
	return strings.ReplaceAll(markup, "\n", "\n"+a.margin.written)
}

// between returns the text between last and a: markup, newlines and margins. last is nil at the top of a part. Two
// marks that would merge are separated.
func (p *packer) between(last, a *atom) (written, read string, entities int) {
	if last == nil {
		_, open, entities := p.d.change(nil, a.frame)
		open = withMargin(open, a)
		if a.margin != nil {
			return a.margin.quotes + open, a.margin.quotesRead, entities
		}
		return open, "", entities
	}
	shut, open, entities := p.d.change(last.frame, a.frame)
	if a.lines == 0 {
		if open != "" && (strings.HasSuffix(shut, open[:1]) || open[0] == '`' && strings.HasSuffix(last.written, "`")) {
			return shut + p.d.Between + open, p.d.Between, entities
		}
		return shut + open, "", entities
	}
	w, r := newlines(last.margin, a.margin, a.lines)
	return withMargin(shut, last) + w + withMargin(open, a), r, entities
}

// newlines returns n line ends, with the margin of the last line begun.
func newlines(from, to *margin, n int) (written, read string) {
	if from == nil && to == nil {
		s := strings.Repeat("\n", n)
		return s, s
	}
	var w, r strings.Builder
	if m := common(from, to); m != nil {
		for range n - 1 {
			w.WriteString("\n" + strings.TrimRight(m.written, " "))
			r.WriteString("\n" + strings.TrimRight(m.read, " "))
		}
	} else {
		w.WriteString(strings.Repeat("\n", n-1))
		r.WriteString(strings.Repeat("\n", n-1))
	}
	w.WriteByte('\n')
	r.WriteByte('\n')
	if to != nil {
		w.WriteString(to.written)
		r.WriteString(to.read)
	}
	return w.String(), r.String()
}

// choose takes the best place before atom i that leaves the part at least half full: a paragraph's end is worth some
// room, but not half of it. If there is none, and i belongs to the atom before it, it takes the last possible place;
// otherwise as much as fits. It always takes something, so that packing ends.
func (p *packer) choose(atoms []atom, i int, best, sizes [qualities]int, size cost) (n int, half, rest *atom) {
	for q := paragraph; q > character; q-- {
		if best[q] > 0 && p.half(sizes[q]) {
			return best[q], nil, nil
		}
	}
	if atoms[i].cut == never {
		last := 0
		for q := word; q < qualities; q++ {
			last = max(last, best[q])
		}
		if last > 0 {
			return last, nil, nil
		}
	}
	if i == 0 {
		if half, rest = p.part(nil, &atoms[0], size); half == nil {
			return 1, nil, nil
		}
		return 0, half, rest
	}
	half, rest = p.part(&atoms[i-1], &atoms[i], size)
	return i, half, rest
}

// half reports whether length fills half of a part; where only raw bytes or entities are limited, any does.
func (p *packer) half(length int) bool { return p.l.Length == 0 || length >= p.l.Length/2 }

// part cuts a where nothing more fits after last: between characters, or inside of one that no part has room for. Both
// are nil if nothing fits. The length of escaped text depends on its characters, so the place is found by search.
func (p *packer) part(last, a *atom, size cost) (half, rest *atom) {
	if a.run == "" {
		return nil, nil
	}
	fits := func(end int) bool {
		h := p.cut(a, a.at, end)
		return p.l.within(p.closed(size.plus(p.step(last, &h)), &h))
	}
	ends := characters(a.run[a.at:a.end])
	if last == nil && !fits(a.at+ends[0]) {
		ends = runes(a.run[a.at:a.end])
	}
	n := sort.Search(len(ends), func(i int) bool { return !fits(a.at + ends[i]) })
	if n == len(ends) { // it all fits, but for what closes it
		n--
	}
	if n < 1 {
		return nil, nil
	}
	at := a.at + ends[n-1]
	h, r := p.cut(a, a.at, at), p.cut(a, at, a.end)
	r.lines, r.cut, r.place.Start = 0, character, false
	return &h, &r
}

// characters returns where each character (grapheme cluster) of s ends.
func characters(s string) (ends []int) {
	at, state := 0, -1
	for s != "" {
		var c string
		c, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		at += len(c)
		ends = append(ends, at)
	}
	return ends
}

// runes returns where each rune of s ends.
func runes(s string) (ends []int) {
	for i, r := range s {
		ends = append(ends, i+utf8.RuneLen(r))
	}
	return ends
}

// cut returns the part of a that is run[from:to]. It is escaped again, because that depends on the neighbors.
func (p *packer) cut(a *atom, from, to int) atom {
	c := *a
	c.at, c.end = from, to
	c.read, c.written = a.run[from:to], p.d.escape(a.run, from, to, a.place)
	entities := a.cost.entities
	c.cost = p.d.measure(c.written, c.read)
	c.cost.entities = entities
	return c
}

// write returns the part that contains atoms and half, without blanks at its end.
func (p *packer) write(atoms []atom, half *atom) Rendered {
	for half == nil && len(atoms) > 0 && atoms[len(atoms)-1].droppable() {
		atoms = atoms[:len(atoms)-1]
	}
	var w, r strings.Builder
	var last *atom
	put := func(a *atom) {
		written, read, _ := p.between(last, a)
		w.WriteString(written)
		w.WriteString(a.written)
		r.WriteString(read)
		r.WriteString(a.read)
		last = a
	}
	for i := range atoms {
		put(&atoms[i])
	}
	if half != nil {
		put(half)
	}
	if last != nil {
		shut, _, _ := p.d.change(last.frame, nil)
		w.WriteString(withMargin(shut, last))
	}
	return Rendered{w.String(), r.String()}
}
