package markdown

import (
	"strconv"
	"strings"
)

// kind is the kind of block that a line at the top level begins.
type kind uint8

const (
	prose kind = iota
	blank
	heading
	rule
	fence
	quote
	item
	formula
	indented
)

// start describes the block that a line begins, for the lines below.
type start struct {
	kind
	indent int    // columns before it
	mark   string // of a fence; of a list its bullet or the sign after its number
	info   string // of a fence
	number int    // of an item
	width  int    // columns that the further lines of an item are indented
	empty  bool   // the item is
	single bool   // the formula ends on its line
}

// startOf classifies a line by its beginning, as CommonMark does for a line that continues nothing.
func startOf(line string) start {
	s, indent := unindent(line)
	s = strings.TrimRight(s, " \t\n")
	switch {
	case s == "":
		return start{kind: blank}
	case indent > 3:
		return start{kind: indented, indent: indent}
	case isHeading(s):
		return start{kind: heading, indent: indent}
	case isRule(s):
		return start{kind: rule, indent: indent}
	case s[0] == '>':
		return start{kind: quote, indent: indent}
	}
	if mark, info := openingFence(s); mark != "" {
		return start{kind: fence, indent: indent, mark: mark, info: info}
	}
	if it, ok := itemOf(s, indent); ok {
		return it
	}
	if f, ok := formulaOf(s); ok {
		return f
	}
	return start{kind: prose, indent: indent}
}

// unindent removes blanks and counts their columns; a tab reaches to the next multiple of four.
func unindent(line string) (rest string, columns int) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return line[i:], columns
		}
	}
	return "", columns
}

// isHeading reports whether s is a heading with signs.
func isHeading(s string) bool {
	n := len(s) - len(strings.TrimLeft(s, "#"))
	return n >= 1 && n <= 6 && (n == len(s) || s[n] == ' ' || s[n] == '\t')
}

// isRule reports whether s is three or more of the same mark, with blanks or none.
func isRule(s string) bool {
	n := 0
	for i := range len(s) {
		switch {
		case s[i] == s[0] && strings.IndexByte("-*_", s[0]) >= 0:
			n++
		case s[i] != ' ' && s[i] != '\t':
			return false
		}
	}
	return n >= 3
}

// underlines reports whether s makes a heading of the line above.
func underlines(s string) bool {
	s = strings.TrimRight(s, " \t\n")
	s, indent := unindent(s)
	return s != "" && indent < 4 && (strings.Trim(s, "=") == "" || strings.Trim(s, "-") == "")
}

// openingFence returns the run of marks that begins a block of code, and the text after it; empty if there is none.
func openingFence(s string) (mark, info string) {
	for _, c := range []string{"`", "~"} {
		n := len(s) - len(strings.TrimLeft(s, c))
		if n >= 3 && (c == "~" || !strings.Contains(s[n:], "`")) {
			return s[:n], strings.TrimSpace(s[n:])
		}
	}
	return "", ""
}

// closes reports whether line ends the block of code that mark began.
func closes(line, mark string) bool {
	s := strings.TrimSpace(line)
	return len(s) >= len(mark) && strings.Trim(s, mark[:1]) == ""
}

// itemOf reads the first line of an item of a list.
func itemOf(s string, indent int) (start, bool) {
	it := start{kind: item, indent: indent}
	n := 0
	for n < len(s) && n < 9 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	switch {
	case n == 0 && strings.IndexByte("-+*", s[0]) >= 0:
	case n > 0 && n < len(s) && (s[n] == '.' || s[n] == ')'):
		it.number, _ = strconv.Atoi(s[:n])
	default:
		return start{}, false
	}
	it.mark = s[n : n+1]
	rest, blanks := unindent(s[n+1:])
	it.empty = rest == ""
	if blanks == 0 && !it.empty {
		return start{}, false
	}
	if it.empty || blanks > 4 {
		blanks = 1
	}
	it.width = indent + n + 1 + blanks
	return it, true
}

// ordered reports whether the items have numbers.
func (s start) ordered() bool { return s.mark == "." || s.mark == ")" }

// formulaOf reads the first line of a formula that is a block of its own. Formulas are not Markdown: their marks would
// be read as styles.
func formulaOf(s string) (start, bool) {
	for _, f := range [...]struct{ open, shut string }{{"$$", "$$"}, {`\[`, `\]`}} {
		rest, ok := strings.CutPrefix(s, f.open)
		switch {
		case !ok:
		case rest == "":
			return start{kind: formula, mark: f.shut}, true
		case len(rest) > len(f.shut) && strings.Index(rest, f.shut) == len(rest)-len(f.shut):
			return start{kind: formula, mark: f.shut, single: true}, true
		}
	}
	return start{}, false
}

// interrupts reports whether a paragraph ends before a line that begins s. As in CommonMark, a numbered item does so
// only with 1, since a sentence may begin a line with a number.
func (s start) interrupts() bool {
	switch s.kind {
	case blank, heading, rule, fence, quote, formula:
		return true
	case item:
		return !s.empty && (!s.ordered() || s.number == 1)
	}
	return false
}

// delimits reports whether line can be the rule between the head of a table and its rows. It must have at least one
// upright: otherwise a rule or a heading is meant.
func delimits(line string) bool {
	s := strings.TrimSpace(line)
	return strings.Contains(s, "|") && strings.Contains(s, "-") && strings.Trim(s, "-:| \t") == ""
}

// isRow reports whether line begins like a row of a table, and not with a spoiler.
func isRow(line string) bool { return strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "||") }

// cells counts the cells of a row.
func cells(row string) int {
	s := strings.ReplaceAll(strings.TrimSpace(row), `\|`, "")
	s = strings.TrimSuffix(strings.TrimPrefix(s, "|"), "|")
	return strings.Count(s, "|") + 1
}

// peel removes the marks of quotes and lists from the beginning of line, and counts them.
func peel(line string) (rest string, n int) {
	for {
		s, _ := unindent(line)
		s = strings.TrimSuffix(s, "\n")
		if s == "" {
			return "", n
		}
		if s[0] == '>' {
			line = s[1:]
		} else if it, ok := itemOf(s, 0); ok {
			line = s[strings.Index(s, it.mark)+1:]
		} else {
			return s, n
		}
		n++
	}
}

// bare returns line without the marks of quotes and lists at its beginning.
func bare(line string) string {
	rest, _ := peel(line)
	return rest
}
