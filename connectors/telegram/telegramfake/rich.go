package telegramfake

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// The limits of rich messages (Bot API 10.1).
const (
	maxRichText    = 32768 // characters, with the sources of formulas
	maxRichBlocks  = 500   // with those within others, items of lists and rows of tables
	maxRichDepth   = 16    // of blocks and styles
	maxRichColumns = 20
)

// ParseRich returns the visible text of an InputRichMessage, or the error of the server. The names of the errors begin as those seen in
// practice; the rest is undocumented.
func ParseRich(message string, draft bool) (text string, err error) {
	var m struct {
		HTML, Markdown *string
		Blocks         []richNode
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		return "", badRequest("can't parse rich message: %v", err)
	}
	if m.HTML != nil || m.Markdown != nil {
		return "", errors.New("html and markdown of rich messages are not modelled")
	}
	if len(m.Blocks) == 0 {
		return "", badRequest("RICH_MESSAGE_CONTENT_REQUIRED")
	}
	r := richReader{draft: draft, references: map[string]bool{}}
	r.all(m.Blocks, 1, "\n\n")
	text = r.out.String()
	for _, name := range r.links {
		if !r.references[name] {
			r.fail("REFERENCE_INVALID: no %s", name)
		}
	}
	switch {
	case r.err != nil:
		return "", r.err
	case strings.TrimFunc(text, invisible) == "":
		return "", badRequest("RICH_MESSAGE_CONTENT_REQUIRED")
	case r.length > maxRichText:
		return "", badRequest("RICH_MESSAGE_TEXT_INVALID: %d units", r.length)
	case r.blocks > maxRichBlocks:
		return "", badRequest("RICH_MESSAGE_BLOCKS_INVALID: %d blocks", r.blocks)
	}
	return text, nil
}

// richNode is a block, an item, a cell or a RichText with a type.
type richNode struct {
	Type          string
	Text          json.RawMessage
	Summary       json.RawMessage
	Blocks        []richNode
	Items         []richNode
	Cells         [][]richNode
	Size          int
	Expression    string
	Language      string
	URL           string
	Name          string
	ReferenceName string `json:"reference_name"`
	Align, Valign string
	HasCheckbox   bool `json:"has_checkbox"`
	IsChecked     bool `json:"is_checked"`
	IsHeader      bool `json:"is_header"`
	Value         int
}

// richReader walks a rich message.
type richReader struct {
	draft      bool
	out        strings.Builder
	blocks     int
	length     int // units of words and formulas
	references map[string]bool
	links      []string
	err        error
}

func (r *richReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = badRequest("RICH_MESSAGE_%s", fmt.Sprintf(format, args...))
	}
}

func (r *richReader) level(depth int) {
	if depth > maxRichDepth {
		r.fail("DEPTH_INVALID")
	}
}

func (r *richReader) all(blocks []richNode, depth int, between string) {
	for i, b := range blocks {
		if i > 0 {
			r.out.WriteString(between)
		}
		r.block(b, depth)
	}
}

func (r *richReader) block(b richNode, depth int) {
	r.level(depth)
	r.blocks++
	switch b.Type {
	case "paragraph", "footer", "pre", "expandable_blockquote", "heading", "thinking":
		if b.Type == "heading" && (b.Size < 1 || b.Size > 6) || b.Type == "thinking" && !r.draft || len(b.Language) > 64 {
			r.fail("BLOCK_INVALID: %s", b.Type)
		}
		r.some(b.Text, depth+1)
	case "divider":
	case "mathematical_expression":
		r.formula(b)
	case "blockquote", "details":
		if b.Type == "details" {
			r.some(b.Summary, depth+1)
			r.out.WriteString("\n")
		}
		if len(b.Blocks) == 0 {
			r.fail("BLOCK_INVALID: %s", b.Type)
		}
		r.all(b.Blocks, depth+1, "\n")
	case "list":
		if len(b.Items) == 0 {
			r.fail("LIST_INVALID")
		}
		for i, item := range b.Items {
			r.item(i, item, depth+1)
		}
	case "table":
		r.table(b, depth+1)
	default:
		r.fail("BLOCK_INVALID: %q", b.Type)
	}
}

func (r *richReader) item(i int, item richNode, depth int) {
	r.level(depth)
	if r.blocks++; len(item.Blocks) == 0 {
		r.fail("LIST_INVALID")
	}
	if i > 0 {
		r.out.WriteString("\n")
	}
	switch {
	case item.HasCheckbox && item.IsChecked:
		r.out.WriteString("☑ ")
	case item.HasCheckbox:
		r.out.WriteString("☐ ")
	case item.Value != 0:
		fmt.Fprintf(&r.out, "%d. ", item.Value)
	default:
		r.out.WriteString("• ")
	}
	r.all(item.Blocks, depth+1, "\n")
}

func (r *richReader) table(b richNode, depth int) {
	if len(b.Cells) == 0 {
		r.fail("TABLE_INVALID")
	}
	for i, row := range b.Cells {
		if r.blocks++; len(row) == 0 || len(row) > maxRichColumns || len(row) != len(b.Cells[0]) {
			r.fail("TABLE_INVALID: %d columns", len(row))
		}
		if i > 0 {
			r.out.WriteString("\n")
		}
		for j, cell := range row {
			if j > 0 {
				r.out.WriteString(" | ")
			}
			if !slices.Contains([]string{"left", "center", "right"}, cell.Align) || !slices.Contains([]string{"top", "middle", "bottom"}, cell.Valign) {
				r.fail("TABLE_INVALID: alignment")
			}
			r.text(cell.Text, depth+1)
		}
	}
}

func (r *richReader) formula(b richNode) {
	if strings.TrimSpace(b.Expression) == "" {
		r.fail("FORMULA_INVALID")
	}
	r.write(b.Expression)
}

func (r *richReader) write(words string) {
	r.length += units(words)
	r.out.WriteString(words)
}

// some reads a RichText that must be visible.
func (r *richReader) some(raw json.RawMessage, depth int) {
	from := r.out.Len()
	if r.text(raw, depth); strings.TrimFunc(r.out.String()[from:], invisible) == "" {
		r.fail("TEXT_INVALID: nothing is visible")
	}
}

func (r *richReader) text(raw json.RawMessage, depth int) {
	var words string
	var all []json.RawMessage
	var n richNode
	switch {
	case json.Unmarshal(raw, &words) == nil:
		r.write(words)
		return
	case json.Unmarshal(raw, &all) == nil:
		for _, one := range all {
			r.text(one, depth)
		}
		return
	case json.Unmarshal(raw, &n) != nil:
		r.fail("TEXT_INVALID")
		return
	}
	r.level(depth)
	switch n.Type {
	case "mathematical_expression":
		r.formula(n)
		return
	case "url":
		if u, err := url.Parse(n.URL); err != nil || !strings.HasPrefix(u.Scheme, "http") || u.Host == "" {
			r.fail("URL_INVALID")
		}
	case "reference":
		r.references[n.Name] = true
	case "reference_link":
		r.links = append(r.links, n.ReferenceName)
	case "bold", "italic", "strikethrough", "spoiler", "code", "superscript", "underline":
	default:
		r.fail("TEXT_INVALID: %q", n.Type)
	}
	r.some(n.Text, depth+1)
}

// richText returns the visible text of a request's rich message. What is not modelled is a rejection.
func (s *Server) richText(c *call) (string, error) {
	text, err := ParseRich(c.params["rich_message"], strings.HasSuffix(c.name, "Draft"))
	if e := (*apiError)(nil); err != nil && !errors.As(err, &e) {
		return "", s.rejectLocked(c, err)
	}
	return text, err
}
