package terminal

import (
	"regexp"
	"strings"

	"github.com/rivo/uniseg"

	"parley/progressive/markdown"
)

const (
	dim   = "\x1b[2m"
	plain = "\x1b[0m"
)

// look renders one answer for one width. It belongs to one goroutine. Without color, the rows contain no control
// sequences at all.
type look struct {
	width     int
	color     bool                 // the terminal supports control sequences, and the user wants them
	noFiles   string               // below a field that takes files
	renderers []*markdown.Renderer // one per stretch of text; they cache their work
}

// lines returns the lines of an answer, none wider than the terminal.
func (l *look) lines(r *reply) (all []string) {
	if r.said != "" && !r.silent() {
		all = l.rows(prompt + r.said)
	}
	begun, stretch := len(all), 0
	for _, b := range r.blocks() {
		var more []string
		// Files of a call are named while the answer grows. At the end they follow with their addresses.
		if b.call != nil {
			more = l.call(b.call)
			if r.end == nil {
				more = append(more, l.names(b.call.files)...)
			}
		} else {
			more = l.text(stretch, b.text, r.end != nil)
			stretch++
		}
		all = apart(all, more)
	}
	all = apart(all, l.files(r.files))
	if offer := r.offered(l.noFiles); offer != "" {
		all = apart(all, l.rows(offer))
	}
	switch {
	case r.end != nil:
	case r.note != "":
		all = apart(all, l.rows("("+r.note+")"))
	case r.cut:
		all = apart(all, []string{l.faint(cut("… connection lost, retrying", l.width))})
	// Nothing has arrived yet.
	case len(all) == begun:
		all = apart(all, []string{l.faint("…")})
	}
	return all
}

// apart returns all and more, separated by an empty row.
func apart(all, more []string) []string {
	if len(all) > 0 && len(more) > 0 {
		all = append(all, "")
	}
	return append(all, more...)
}

// rows splits text into rows. A tab becomes four spaces, because its width would depend on its place.
func (l *look) rows(lines string) (rows []string) {
	for line := range strings.SplitSeq(harmless(lines), "\n") {
		rows = append(rows, fold(strings.ReplaceAll(line, "\t", "    "), l.width)...)
	}
	return rows
}

// text renders the nth stretch of Markdown for a terminal. Each stretch has its own renderer, which renders only what
// was added since the last time; whole is set for the final text.
func (l *look) text(n int, text string, whole bool) (all []string) {
	if n == len(l.renderers) {
		l.renderers = append(l.renderers, markdown.NewRenderer(l.dialect(), markdown.Limits{}))
	}
	parts := l.renderers[n].Render(harmless(text), whole)
	if len(parts) == 0 {
		return nil
	}
	for line := range strings.SplitSeq(strings.Trim(parts[0].Text, "\n"), "\n") {
		all = append(all, fold(strings.ReplaceAll(line, "\t", "    "), l.width)...)
	}
	return all
}

// dialect returns the Markdown dialect of the terminal.
func (l *look) dialect() markdown.Dialect {
	if l.color {
		return markdown.Terminal(markdown.TerminalOptions{Width: l.width})
	}
	d := markdown.Plain()
	d.Width = l.width
	return d
}

// call renders a call as one row: its state, name and result. A result that does not fit gets the next row.
func (l *look) call(c *call) (rows []string) {
	sign, after := "▸", c.last.ShortResult
	switch {
	case c.last.Stage != "end":
		if after == "" {
			after = "…"
		}
	case c.last.Error != "":
		sign, after = "✗", c.last.Error
	default:
		sign = "✓"
	}
	what, after := oneLine(sign+" "+c.last.ToolName+" "+c.shown), oneLine(after)
	if line := strings.TrimSpace(what + " " + after); uniseg.StringWidth(line) <= l.width || after == "…" {
		return []string{l.faint(cut(line, l.width))}
	}
	rows = []string{l.faint(cut(what, l.width))}
	for _, row := range wrap(after, max(1, l.width-len(below))) {
		rows = append(rows, l.faint(below+row))
	}
	return rows
}

const below = "  "

// oneLine returns s without control characters, and with single spaces in place of line breaks.
func oneLine(s string) string { return strings.Join(strings.Fields(harmless(s)), " ") }

// wrap breaks a line between words, and words wider than a row at the margin.
func wrap(line string, width int) (rows []string) {
	row := ""
	for _, word := range strings.Fields(line) {
		if joined := strings.TrimSpace(row + " " + word); uniseg.StringWidth(joined) <= width {
			row = joined
			continue
		}
		if row != "" {
			rows = append(rows, row)
		}
		parts := fold(word, width)
		rows, row = append(rows, parts[:len(parts)-1]...), parts[len(parts)-1]
	}
	return append(rows, row)
}

func (l *look) faint(s string) string {
	if !l.color {
		return s
	}
	return dim + s + plain
}

// harmless removes control characters except line breaks and tabs, because text from a model or a tool must not control
// the terminal: sequences can move the cursor, change the title, or even paste input. It also removes the C1 controls,
// which some terminals accept as single characters.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0) {
			return -1
		}
		return r
	}, s)
}

// cut shortens a line without control sequences to a width. It cuts between grapheme clusters, since code points that
// are displayed as one character must stay together.
func cut(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	var b strings.Builder
	used := 1 // the ellipsis
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used += g.Width(); used > width {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}

// fold breaks an overlong line, such as code, at the margin. Styles continue on the next row: they are ended at the
// margin and begun again, so that a row can be redrawn alone.
func fold(s string, width int) (rows []string) {
	var row, open strings.Builder
	used := 0
	for len(s) > 0 {
		if style := style.FindString(s); style != "" {
			row.WriteString(style)
			open.WriteString(style)
			s = s[len(style):]
			continue
		}
		cluster, rest, w, _ := uniseg.FirstGraphemeClusterInString(s, -1)
		if used+w > width && used > 0 {
			if open.Len() > 0 {
				row.WriteString(plain)
			}
			rows = append(rows, row.String())
			row.Reset()
			row.WriteString(open.String())
			used = 0
		}
		row.WriteString(cluster)
		used += w
		s = rest
	}
	return append(rows, row.String())
}

// style matches a control sequence that sets a style: the one at the beginning, and any.
var (
	style  = regexp.MustCompile(`^\x1b\[[^m]*m`)
	styles = regexp.MustCompile(`\x1b\[[^m]*m`)
)

// written returns a line without its styles.
func written(line string) string { return styles.ReplaceAllString(line, "") }
