package telegram

import (
	"bufio"
	"bytes"
	stdhtml "html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"parley/progressive"
)

// A message holds 4096 characters after parsing and 32 KiB before (TR-04). Of more than 100 entities the server drops
// the last without a word (TR-05).
const (
	splitAt      = 3900 // UTF-16 units of Markdown
	leastSplit   = 480
	mostText     = 4096 // UTF-16 units
	mostRaw      = 32 << 10
	mostEntities = 90
)

// render makes messages in Telegram's HTML of Markdown, whole or cut off anywhere. Each part is split again if what it
// becomes is too much for one message.
func render(markdown string) []progressive.Part {
	return renderPieces(strings.ToValidUTF8(markdown, "\uFFFD"), splitAt)
}

func renderPieces(markdown string, limit int) (parts []progressive.Part) {
	for _, piece := range progressive.Split(markdown, limit, progressive.UTF16Len) {
		w := newWriter(piece)
		w.blocks(markdownParser.Parse(text.NewReader(w.src)), 2)
		switch {
		case w.fits() && w.plain.Len() > 0:
			parts = append(parts, progressive.Part{Text: w.html.String(), Plain: w.plain.String()})
		case !w.fits() && limit > leastSplit:
			parts = append(parts, renderPieces(piece, limit/2)...)
		default: // markup without words, or too much of it: as it was written
			plain := clean(piece)
			parts = append(parts, progressive.Part{Text: escape(plain), Plain: plain})
		}
	}
	return parts
}

// markdownParser reads GFM. HTML is text to it (TR-09), and so are definitions of links: they may stand in another part
// than what refers to them.
var markdownParser = newMarkdownParser()

func newMarkdownParser() parser.Parser {
	without := func(all []util.PrioritizedValue, priority int) (some []util.PrioritizedValue) {
		for _, p := range all {
			if p.Priority != priority {
				some = append(some, p)
			}
		}
		return some
	}
	const htmlBlock, rawHTML = 900, 400 // the priorities stand in goldmark's documentation
	p := parser.NewParser(
		parser.WithBlockParsers(without(parser.DefaultBlockParsers(), htmlBlock)...),
		parser.WithInlineParsers(without(parser.DefaultInlineParsers(), rawHTML)...),
	)
	return goldmark.New(goldmark.WithParser(p), goldmark.WithExtensions(extension.GFM)).Parser()
}

// writer builds a message and what is shown of it, side by side.
type writer struct {
	src         []byte
	html, plain strings.Builder
	pending     int    // newlines before the next text
	indent      string // after them
	open        map[string]bool
	styles      int // how many of open are styles
	entities    int // the server never makes more of it

	resolved bytes.Buffer
	resolver *bufio.Writer
}

func newWriter(markdown string) *writer {
	w := &writer{src: []byte(markdown), open: map[string]bool{}}
	w.resolver = bufio.NewWriter(&w.resolved)
	return w
}

func (w *writer) fits() bool {
	return w.entities <= mostEntities && w.html.Len() <= mostRaw && progressive.UTF16Len(w.plain.String()) <= mostText
}

// gap starts a new line, or with 2 a new paragraph, before whatever is shown next.
func (w *writer) gap(lines int) {
	if w.plain.Len() > 0 {
		w.pending = max(w.pending, lines)
	}
}

func (w *writer) flush() {
	if w.pending == 0 {
		return
	}
	s := strings.Repeat("\n", w.pending) + w.indent
	w.pending = 0
	w.plain.WriteString(s)
	w.html.WriteString(s)
}

func (w *writer) text(s string) {
	if s = clean(s); s != "" {
		w.flush()
		w.plain.WriteString(s)
		w.html.WriteString(escape(s))
	}
}

// tagged puts what f writes into an element. One inside of its like adds nothing, and quotes do not nest.
func (w *writer) tagged(name, attributes string, f func()) {
	if w.open[name] {
		f()
		return
	}
	w.flush()
	w.entities += 1 + 2*w.styles // the server cuts a style where another entity begins and ends
	style := name == "b" || name == "i" || name == "s"
	if style {
		w.styles++
	}
	w.open[name] = true
	w.html.WriteString("<" + name + attributes + ">")
	f()
	w.html.WriteString("</" + name + ">")
	delete(w.open, name)
	if style {
		w.styles--
	}
}

// blocks writes the children of n with a gap between them.
func (w *writer) blocks(n ast.Node, lines int) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c != n.FirstChild() {
			w.gap(lines)
		}
		w.block(c)
	}
}

func (w *writer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		w.tagged("b", "", func() { w.inlines(n) })
	case *ast.ThematicBreak:
		w.text("──────────")
	case *ast.FencedCodeBlock:
		w.code(n, string(n.Language(w.src)))
	case *ast.CodeBlock:
		w.code(n, "")
	case *ast.Blockquote:
		w.tagged("blockquote", "", func() { w.blocks(n, 2) })
	case *ast.List:
		w.list(n)
	case *extast.Table:
		w.table(n)
	default:
		w.inlines(n)
	}
}

func (w *writer) list(l *ast.List) {
	lines, number := 2, l.Start
	if l.IsTight {
		lines = 1
	}
	outer := w.indent
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		if item != l.FirstChild() {
			w.gap(lines)
		}
		marker := "• "
		if l.IsOrdered() {
			marker = strconv.Itoa(number) + ". "
			number++
		}
		w.text(marker)
		w.indent = outer + strings.Repeat(" ", utf8.RuneCountInString(marker))
		w.blocks(item, lines)
		w.indent = outer
	}
}

var languageForm = regexp.MustCompile(`^[A-Za-z0-9+#._-]{1,32}$`)

// code writes a block of code. Servers make one space of a tab (TR-06), so it is four here.
func (w *writer) code(n ast.Node, language string) {
	content := strings.TrimRight(string(n.Lines().Value(w.src)), "\n")
	w.preformatted(strings.ReplaceAll(content, "\t", "    "), language)
}

func (w *writer) preformatted(content, language string) {
	if strings.TrimSpace(content) == "" {
		return
	}
	w.tagged("pre", "", func() {
		if !languageForm.MatchString(language) {
			w.text(content)
			return
		}
		w.html.WriteString(`<code class="language-` + language + `">`) // one entity with the pre
		w.text(content)
		w.html.WriteString("</code>")
	})
}

func (w *writer) inlines(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.inline(c)
	}
}

func (w *writer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(w.resolve(n))
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.gap(1)
		}
	case *ast.String:
		w.text(string(n.Value))
	case *ast.CodeSpan:
		w.codeSpan(n)
	case *ast.Emphasis:
		w.tagged(map[bool]string{true: "b", false: "i"}[n.Level > 1], "", func() { w.inlines(n) })
	case *extast.Strikethrough:
		w.tagged("s", "", func() { w.inlines(n) })
	case *ast.Link:
		w.link(n.Destination, func() { w.inlines(n) })
	case *ast.Image:
		w.link(n.Destination, func() { w.inlines(n) })
	case *ast.AutoLink:
		w.text(string(n.Label(w.src))) // clients find it
	case *extast.TaskCheckBox:
		w.text(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked])
	default:
		w.inlines(n)
	}
}

// resolve reads backslashes and character references.
func (w *writer) resolve(n *ast.Text) string {
	value := n.Segment.Value(w.src)
	if n.IsRaw() || !bytes.ContainsAny(value, "\\&\x00") {
		return string(value)
	}
	w.resolved.Reset()
	html.DefaultWriter.Write(w.resolver, value)
	_ = w.resolver.Flush() // into memory
	return stdhtml.UnescapeString(w.resolved.String())
}

// codeSpan writes code within a line. A link can't hold it.
func (w *writer) codeSpan(n *ast.CodeSpan) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(w.src))
		}
	}
	code := strings.ReplaceAll(b.String(), "\n", " ")
	if w.open["a"] {
		w.text(code)
		return
	}
	w.tagged("code", "", func() { w.text(code) })
}

// link writes a link, or its address in parentheses where the server would drop it without a word.
func (w *writer) link(destination []byte, label func()) {
	to := string(util.URLEscape(destination, true))
	from := w.plain.Len()
	switch {
	case w.open["a"]:
		label()
	case linkable(to):
		w.tagged("a", ` href="`+escape(to)+`"`, func() {
			if label(); w.plain.Len() == from {
				w.text(to)
			}
		})
	default:
		label()
		shown := w.plain.String()[from:]
		to = strings.TrimPrefix(string(destination), "mailto:") // clients find addresses by themselves
		if to != "" && to != strings.TrimSpace(shown) {
			w.text(" (" + to + ")")
		}
	}
}

// linkable says whether the server makes a link of it. It takes mailto: for a host.
func linkable(to string) bool {
	u, err := url.Parse(to)
	if err != nil || !strings.Contains(to, "://") {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return strings.ContainsAny(u.Hostname(), ".:")
	case "tg":
		return true
	}
	return false
}

// table writes a table as aligned text.
func (w *writer) table(t *extast.Table) {
	var rows [][]string
	widths := make([]int, len(t.Alignments))
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		var row []string
		for c := r.FirstChild(); c != nil && len(row) < len(widths); c = c.NextSibling() {
			cell := newWriter("")
			cell.src = w.src
			cell.inlines(c)
			s := strings.Join(strings.Fields(cell.plain.String()), " ")
			widths[len(row)] = max(widths[len(row)], utf8.RuneCountInString(s))
			row = append(row, s)
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	for i, row := range rows {
		b.WriteString(tableLine(row, widths, t.Alignments) + "\n")
		if i == 0 {
			b.WriteString(tableRule(widths) + "\n")
		}
	}
	w.preformatted(strings.TrimRight(b.String(), "\n"), "")
}

func tableLine(row []string, widths []int, alignments []extast.Alignment) string {
	cells := make([]string, len(row))
	for i, s := range row {
		left, right := 0, widths[i]-utf8.RuneCountInString(s)
		switch alignments[i] {
		case extast.AlignRight:
			left, right = right, 0
		case extast.AlignCenter:
			left, right = right/2, right-right/2
		}
		cells[i] = strings.Repeat(" ", left) + s + strings.Repeat(" ", right)
	}
	return strings.TrimRight(strings.Join(cells, " | "), " ")
}

func tableRule(widths []int) string {
	rules := make([]string, len(widths))
	for i, n := range widths {
		rules[i] = strings.Repeat("-", n)
	}
	return strings.Join(rules, "-+-")
}

// clean does what the server does (TR-06), so that what we send is what is stored.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r', r >= '\u2028' && r <= '\u202e', r == '\u030a', r == '\u0333', r == '\u033f':
			return -1
		case r < ' ' && r != '\n':
			return ' '
		}
		return r
	}, s)
}

func escape(s string) string { return escaper.Replace(s) }

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
