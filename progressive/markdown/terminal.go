package markdown

import "github.com/rivo/uniseg"

// TerminalOptions describe a terminal.
type TerminalOptions struct {
	Width int  // lines are wrapped between words after this many columns; 0 leaves wrapping to the terminal
	Links bool // it supports links (OSC 8); otherwise URLs are shown
}

// Terminal returns the dialect of terminals, with control sequences (ANSI). The text must not contain any itself; the
// cleaner removes them.
func Terminal(o TerminalOptions) Dialect {
	d := Plain()
	d.Width = o.Width
	d.Mark = o.mark
	d.Links = func(url string) bool { return o.Links && safe(url) }
	d.Heading = func(level int) (string, []Kind) { return "", []Kind{Strong} }
	d.Tab = "    "
	return d
}

// mark returns the sequences of m. Each style has a sequence of its own that ends it, so that styles can be nested.
func (o TerminalOptions) mark(m Mark) (Markup, bool) {
	switch m.Kind {
	case Strong:
		return Markup{"\x1b[1m", "\x1b[22m"}, true
	case Emphasis:
		return Markup{"\x1b[3m", "\x1b[23m"}, true
	case Strike:
		return Markup{"\x1b[9m", "\x1b[29m"}, true
	case Spoiler:
		return Markup{"\x1b[7m", "\x1b[27m"}, true
	case CodeSpan:
		return Markup{"\x1b[36m", "\x1b[39m"}, true
	case CodeBlock:
		return Markup{"\x1b[32m", "\x1b[39m"}, true
	case Anchor:
		if o.Links {
			return Markup{"\x1b]8;;" + m.URL + "\x1b\\\x1b[4m", "\x1b[24m\x1b]8;;\x1b\\"}, true
		}
	}
	return Markup{}, false
}

// wrap breaks lines between words, code excepted, so that they are not wider than the terminal. The terminal itself
// would break within words, and without the margin.
func (f *flow) wrap() {
	column := 0
	blank := -1 // the last place to break
	for i := range f.atoms {
		a := &f.atoms[i]
		if a.lines > 0 || i == 0 {
			column, blank = a.margin.width(), -1
		}
		column += uniseg.StringWidth(a.read)
		switch {
		case a.place.InCode && a.frame.has(CodeBlock):
		case a.blank:
			blank = i
		case column > f.d.Width && blank >= 0:
			column = f.breakAt(blank, i)
			blank = -1
		}
	}
	f.dropEmpty()
}

// breakAt makes a newline of the blanks at i and returns how wide the new line is up to the atom last.
func (f *flow) breakAt(i, last int) int {
	a := &f.atoms[i]
	a.read, a.written, a.run, a.cost = "", "", "", cost{}
	f.atoms[i+1].lines = 1
	width := f.atoms[i+1].margin.width()
	for j := i + 1; j <= last; j++ {
		width += uniseg.StringWidth(f.atoms[j].read)
	}
	return width
}

// dropEmpty removes what breakAt left.
func (f *flow) dropEmpty() {
	kept := f.atoms[:0]
	for _, a := range f.atoms {
		if !a.blank || a.read != "" {
			kept = append(kept, a)
		}
	}
	f.atoms = kept
}

func (m *margin) width() int {
	if m == nil {
		return 0
	}
	return uniseg.StringWidth(m.read)
}
