package document

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// dialect names the elements of an XML format for prose, without their namespaces. Each format of office documents is
// read by the same code with another dialect.
type dialect struct {
	text, paragraph map[string]bool // whose characters are text; what ends with a new line
	run             map[string]bool // elements whose tab is text; elsewhere it is a tab stop
	tab, newline    string
	row, cell       string
	style, level    string // the attribute of a heading's style, or its level
}

var ( // never changed
	// word is the format of Word, and with it that of PowerPoint's slides (ECMA-376, parts 17 and 21).
	word = dialect{
		text: map[string]bool{"t": true}, paragraph: map[string]bool{"p": true}, run: map[string]bool{"r": true},
		tab: "tab", newline: "br", row: "tr", cell: "tc", style: "pStyle",
	}
	// openDocument is the text format of OpenDocument 1.3.
	openDocument = dialect{
		text: map[string]bool{"p": true, "h": true}, paragraph: map[string]bool{"p": true, "h": true}, run: map[string]bool{"p": true, "h": true},
		tab: "tab", newline: "line-break", row: "table-row", cell: "table-cell", level: "outline-level",
	}
)

// partText returns the text of one part of an archive.
func partText(z *zip.Reader, name string, d dialect) (string, error) {
	f, err := part(z, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	p := prose{dialect: d}
	if err := p.read(f); err != nil {
		return "", fmt.Errorf("read %s in the archive: %w", name, err)
	}
	return p.out.String(), nil
}

// slidesText returns the text of a presentation, slide by slide, in the order of their numbers.
func slidesText(z *zip.Reader, names map[string]bool) (string, error) {
	var out strings.Builder
	for n := 1; out.Len() < maxText; n++ {
		name := "ppt/slides/slide" + strconv.Itoa(n) + ".xml"
		if !names[name] {
			break
		}
		text, err := partText(z, name, word)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "## Slide %d\n%s\n", n, text)
	}
	return out.String(), nil
}

// prose builds the text of a document while its elements are read. Numbers of open elements are counted, not matched:
// damaged documents close elements that they did not open.
type prose struct {
	dialect
	out    strings.Builder
	inText int    // how many open elements hold text
	inRun  int    // how many open elements are runs
	old    int    // the number of open elements that repeat earlier ones for older programs
	cells  int    // how many cells of the row have begun
	rows   int    // how many rows are open; a table in a table is a part of its cell
	prefix string // of the paragraph
}

// fallback is an element that repeats the text before it for older programs; it is skipped, or the text would appear
// twice.
const fallback = "Fallback"

// read reads the elements in r until there is enough text. It reads raw tokens, so that elements that are not closed do
// no harm.
func (p *prose) read(r io.Reader) error {
	elements := xml.NewDecoder(r)
	elements.Strict = false
	for p.out.Len() < maxText {
		token, err := elements.RawToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			p.begin(t)
		case xml.EndElement:
			p.end(t.Name.Local)
		case xml.CharData:
			if p.inText > 0 && p.old == 0 {
				p.write(string(t))
			}
		}
	}
	return nil
}

// begin handles the start of an element.
func (p *prose) begin(e xml.StartElement) {
	name := e.Name.Local
	switch {
	case name == p.row:
		if p.rows++; p.rows == 1 {
			p.cells = 0
		}
	case name == p.cell && p.rows == 1:
		if p.cells++; p.cells > 1 {
			p.out.WriteString("| ")
		}
	case name == p.style:
		p.prefix = heading(attribute(e, "val"))
	case name == p.tab && p.inRun > 0:
		p.write("\t")
	case name == p.newline:
		p.write("\n")
	}
	if p.level != "" && p.paragraph[name] {
		p.prefix = marks(attribute(e, p.level))
	}
	p.count(name, 1)
}

// end handles the end of an element.
func (p *prose) end(name string) {
	p.count(name, -1)
	switch {
	case p.paragraph[name] && p.rows > 0:
		p.out.WriteString(" ")
	case p.paragraph[name]:
		p.out.WriteString("\n")
	case name == p.row:
		if p.rows = max(0, p.rows-1); p.rows == 0 {
			p.out.WriteString("\n")
		}
	}
	if p.paragraph[name] {
		p.prefix = ""
	}
}

// count adds by to the numbers of open elements of the kinds that name belongs to.
func (p *prose) count(name string, by int) {
	if p.text[name] {
		p.inText = max(0, p.inText+by)
	}
	if p.run[name] {
		p.inRun = max(0, p.inRun+by)
	}
	if name == fallback {
		p.old = max(0, p.old+by)
	}
}

// write writes text. The first of a paragraph gets the marks of its heading.
func (p *prose) write(text string) {
	p.out.WriteString(p.prefix + text)
	p.prefix = ""
}

// heading returns the marks of a heading for a paragraph style: Word's are Heading1 to Heading9, and Title.
func heading(style string) string {
	if style == "Title" {
		return marks("1")
	}
	level, ok := strings.CutPrefix(style, "Heading")
	if !ok {
		return ""
	}
	return marks(level)
}

// marks returns the marks of a Markdown heading, or "" if level is no level.
func marks(level string) string {
	n, err := strconv.Atoi(level)
	if err != nil || n < 1 {
		return ""
	}
	return strings.Repeat("#", min(n, 6)) + " "
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
