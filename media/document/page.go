package document

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"parley/internal/encoding"
)

// pageText converts an HTML page to Markdown. Scripts, styles, navigation and footers are dropped.
func pageText(document []byte) (string, error) {
	toMarkdown := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	for _, tag := range []string{"nav", "footer"} {
		toMarkdown.Register.TagType(tag, converter.TagTypeRemove, converter.PriorityStandard)
	}
	text, err := toMarkdown.ConvertReader(bytes.NewReader(encoding.Page(document, "")))
	if err != nil {
		return "", fmt.Errorf("read the HTML page: %w", err)
	}
	return string(text), nil
}

const maxDepth = 200 // of elements in each other; deeper ones are left out

// skipped are elements without text for readers.
var skipped = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true, atom.Nav: true, atom.Footer: true,
	atom.Aside: true, atom.Form: true, atom.Iframe: true, atom.Head: true, atom.Button: true, atom.Select: true,
}

// blocks are elements that begin a line.
var blocks = map[atom.Atom]bool{
	atom.P: true, atom.Div: true, atom.Br: true, atom.Li: true, atom.Tr: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true,
	atom.H5: true, atom.H6: true, atom.Pre: true, atom.Blockquote: true, atom.Section: true, atom.Article: true, atom.Table: true, atom.Dt: true, atom.Dd: true,
}

// Readable returns the title of a page, and the text of its main part: of its article, otherwise of its main element,
// otherwise of all of it. A short article is probably a teaser. The title is one line. The media type can name an
// encoding; empty is unknown.
func Readable(page []byte, mediaType string) (title, body string) {
	root, err := html.Parse(bytes.NewReader(encoding.Page(page, mediaType)))
	if err != nil {
		return "", ""
	}
	if t := find(root, 0, atom.Title); t != nil && t.FirstChild != nil {
		title = strings.Join(strings.Fields(t.FirstChild.Data), " ")
	}
	for _, part := range []atom.Atom{atom.Article, atom.Main, atom.Body} {
		if n := find(root, 0, part); n != nil {
			var b strings.Builder
			write(&b, n, 0)
			if body = tidy(b.String()); len(body) > 200 || part == atom.Body {
				return title, body
			}
		}
	}
	return title, body
}

// find returns the first element of a kind, in document order; nil if there is none.
func find(n *html.Node, depth int, kind atom.Atom) *html.Node {
	if n.Type == html.ElementNode && n.DataAtom == kind {
		return n
	}
	if depth > maxDepth {
		return nil
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if found := find(c, depth+1, kind); found != nil {
			return found
		}
	}
	return nil
}

// write appends the text of an element. The recursion is bounded, because pages are untrusted.
func write(b *strings.Builder, n *html.Node, depth int) {
	switch {
	case depth > maxDepth, n.Type == html.CommentNode, n.Type == html.ElementNode && (skipped[n.DataAtom] || isHidden(n)):
		return
	case n.Type == html.TextNode:
		b.WriteString(n.Data)
		return
	case blocks[n.DataAtom]:
		b.WriteByte('\n')
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		write(b, c, depth+1)
	}
	if blocks[n.DataAtom] {
		b.WriteByte('\n')
	}
}

// isHidden reports whether an element is invisible in a browser. Text for models only is left out: it is usually an
// attempt to instruct them. Styles from style sheets are not known here.
func isHidden(n *html.Node) bool {
	for _, a := range n.Attr {
		value := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
		switch {
		case a.Key == "hidden", a.Key == "aria-hidden" && value == "true":
			return true
		case a.Key == "style" && (strings.Contains(value, "display:none") || strings.Contains(value, "visibility:hidden")):
			return true
		}
	}
	return false
}

// tidy removes white space that HTML ignores.
func tidy(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
