package markdown

// frame is a mark that is open, and those around it. Frames are never changed, so atoms share them, and equal pointers
// mean equal marks.
type frame struct {
	parent *frame
	mark   Mark
	markup Markup
	depth  int
	styles int  // marks around and with it that the platform cuts where others begin
	shut   cost // of closing all of it
}

// cost is what something takes of the limits of a part.
type cost struct {
	length, raw, entities int
	read                  int // units of the visible text
}

func (c cost) plus(o cost) cost {
	return cost{c.length + o.length, c.raw + o.raw, c.entities + o.entities, c.read + o.read}
}

// within reports whether c is not more than l allows.
func (l Limits) within(c cost) bool {
	return (l.Length == 0 || c.length <= l.Length && c.read <= l.Length) &&
		(l.Raw == 0 || c.raw <= l.Raw) && (l.Entities == 0 || c.entities <= l.Entities)
}

// has reports whether a mark of kind k is open.
func (f *frame) has(k Kind) bool {
	for ; f != nil; f = f.parent {
		if f.mark.Kind == k {
			return true
		}
	}
	return false
}

func (f *frame) level() int {
	if f == nil {
		return 0
	}
	return f.depth
}

// code reports whether text in f is code.
func (f *frame) code() bool { return f != nil && (f.mark.Kind == CodeSpan || f.mark.Kind == CodeBlock) }

// change returns the markup between an atom in from and one in to: marks that are open in both stay open. entities is
// how many marks begin.
func (d *Dialect) change(from, to *frame) (shut, open string, entities int) {
	a, b := from, to
	for a.level() > b.level() {
		shut, a = shut+a.markup.Shut, a.parent
	}
	for b.level() > a.level() {
		open, entities, b = b.markup.Open+open, entities+d.entities(b), b.parent
	}
	for a != b {
		shut, a = shut+a.markup.Shut, a.parent
		open, entities, b = b.markup.Open+open, entities+d.entities(b), b.parent
	}
	return shut, open, entities
}

// entities returns the cost of a mark in entities. Where styles overlap, servers split them: each style around this
// mark is cut where it begins and where it ends. The result is the upper bound.
func (d *Dialect) entities(f *frame) int {
	if !d.Counts {
		return 0
	}
	return 1 + 2*f.parent.cut()
}

// cut returns how many styles a mark within f cuts.
func (f *frame) cut() int {
	if f == nil {
		return 0
	}
	return f.styles
}

// measure returns what writing text takes that is visible as read.
func (d *Dialect) measure(written, read string) cost {
	c := cost{raw: len(written), read: d.Units(read)}
	c.length = c.read
	if !d.Read {
		if written == read {
			return c
		}
		c.length = d.Units(written)
	}
	return c
}
