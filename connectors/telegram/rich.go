package telegram

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"parley/progressive"
	"parley/progressive/markdown"
)

// A rich message (Bot API 10.2) holds 32,768 characters, 500 blocks, with list items and rows of tables, 16 levels of blocks and styles,
// and tables of 20 columns.
const (
	mostRich    = 32<<10 - 100 // the rest is reserved for the mark of a repeated message
	mostBlocks  = 500 - 20     // with the same reserve
	mostLevels  = 16
	mostNested  = 10 // levels of blocks; the rest is for styles
	mostColumns = 20
)

// richDisplay describes messages as lists of blocks.
func richDisplay(reply bool) progressive.MarkdownOptions {
	d := markdown.Plain()
	d.Links, d.Read, d.Blocks = links, true, &markdown.Blocks{Write: writeRich, Measure: measureRich, Lines: richLines}
	return progressive.MarkdownOptions{
		Dialect: d, Limits: markdown.Limits{Length: mostRich, Entities: mostBlocks},
		MostFile: mostFile, Reply: reply, Chosen: true,
	}
}

// links reports whether Telegram makes a link of an address behind words.
func links(url string) bool { return markdown.HTML(markdown.HTMLOptions{}).Links(url) }

// isRich reports whether the text of a part is one of blocks: in HTML a quotation mark is a reference.
func isRich(p progressive.Part) bool { return strings.HasPrefix(p.Text, `{"`) }

// richMessage returns the InputRichMessage of a part. JSON has no newlines within strings, so those in text separate blocks. Links
// are marked by the renderer; detected mentions would notify users.
func richMessage(p progressive.Part) string {
	return `{"blocks":` + richArray(p.Text) + `,"skip_entity_detection":true}`
}

func richArray(text string) string { return "[" + strings.ReplaceAll(text, "\n\n", ",") + "]" }

// measureRich implements [markdown.Blocks].Measure. It counts the encoded blocks, as the server does.
func measureRich(text string) (length, blocks int) {
	var all []any
	if err := json.Unmarshal([]byte(richArray(text)), &all); err != nil {
		return len(text), 0 // impossible; an upper bound
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			length += markdown.UTF16(v)
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for _, field := range []string{"text", "summary", "expression", "blocks", "items", "cells"} {
				list, _ := v[field].([]any)
				if field != "text" { // a list of words
					blocks += len(list)
				}
				walk(v[field])
			}
		}
	}
	walk(all)
	return length, blocks + len(all)
}

// richLines shows lines about calls: the newest one, with the earlier ones behind it.
func richLines(lines []string) string {
	newest := lines[len(lines)-1]
	if len(lines) == 1 {
		return richBlock{"type": "footer", "text": newest}.json()
	}
	earlier := richBlock{"type": "paragraph", "text": strings.Join(lines[:len(lines)-1], "\n")}
	return richBlock{"type": "details", "summary": newest, "blocks": []richBlock{earlier}}.json()
}

// richBlock is an InputRichBlock, an item of a list, or a RichText with a type.
type richBlock map[string]any

func (b richBlock) json() string {
	raw, err := json.Marshal(b)
	if err != nil {
		panic(err) // strings, numbers and lists, which always marshal
	}
	return string(raw)
}

// richWriter writes the blocks of one message.
type richWriter struct {
	dialect markdown.Dialect
	notes   map[string]bool // the footnotes that the message has
	written map[string]bool // those that were written
	length  int             // of the text
	blocks  int
}

// writeRich implements [markdown.Blocks].Write. A reference to a footnote that turns out to be empty would be refused.
func writeRich(pieces []markdown.Piece) (text string, length, blocks int) {
	notes := footnotes(pieces)
	w := richWriter{dialect: markdown.Plain(), notes: notes, written: map[string]bool{}}
	w.dialect.Links = links
	all := w.all(pieces)
	if len(w.written) < len(notes) {
		w = richWriter{dialect: w.dialect, notes: w.written, written: map[string]bool{}}
		all = w.all(pieces)
	}
	raw := make([]string, len(all))
	for i, b := range all {
		raw[i] = b.json()
	}
	return strings.Join(raw, "\n\n"), w.length, w.blocks
}

// all returns the blocks of a message. A piece with too many blocks is words.
func (w *richWriter) all(pieces []markdown.Piece) (all []richBlock) {
	for _, p := range pieces {
		before := *w
		b := w.block(p.Block, 1)
		if b != nil && w.blocks-before.blocks > mostBlocks/2 {
			*w = before
			b = w.words(markdown.PlainText(p))
			w.blocks += mostBlocks / 2 // as before it had more: the size of a growing part doesn't shrink
		}
		if n := len(all); b != nil && (n == 0 || !joined(all[n-1], b, p.Joint)) {
			all = append(all, b)
		}
	}
	return all
}

// joined adds b to last, if both are pieces of one block.
func joined(last, b richBlock, j markdown.Joint) bool {
	if last["type"] != b["type"] || last["language"] != b["language"] {
		return false
	}
	switch kind := b["type"]; {
	case kind == "list":
		items, more := last["items"].([]richBlock), b["items"].([]richBlock)
		if (items[0]["value"] == nil) != (more[0]["value"] == nil) {
			return false
		}
		last["items"] = append(items, more...)
	case j == markdown.Apart:
		return false
	case kind == "table":
		last["cells"] = append(last["cells"].([][]richBlock), b["cells"].([][]richBlock)[1:]...)
	case kind == "blockquote":
		last["blocks"] = append(last["blocks"].([]richBlock), b["blocks"].([]richBlock)...)
	case kind == "pre" || kind == "paragraph":
		if j == markdown.NextLine {
			last["text"] = sequence(last["text"], "\n")
		}
		last["text"] = sequence(last["text"], b["text"])
	default:
		return false
	}
	return true
}

// sequence returns two RichTexts as one.
func sequence(a, b any) any {
	one, ok := a.([]any)
	if !ok {
		one = []any{a}
	}
	more, ok := b.([]any)
	if !ok {
		more = []any{b}
	}
	return slices.Concat(one, more)
}

// block returns b, or nil if nothing of it is visible. Blocks within too many others are words.
func (w *richWriter) block(b markdown.Block, depth int) richBlock {
	if depth > mostNested {
		return w.words(markdown.PlainText(markdown.Piece{Block: b}))
	}
	switch b := b.(type) {
	case markdown.Paragraph:
		return w.leaf("paragraph", w.lines(b.Text, depth+1))
	case markdown.Heading:
		h := w.leaf("heading", w.lines(b.Text, depth+1))
		if h != nil {
			h["size"] = b.Level
		}
		return h
	case markdown.Rule:
		w.blocks++
		return richBlock{"type": "divider"}
	case markdown.Code:
		indented := strings.Replace(b.Text, "\t", "    ", mostTabs)
		code := w.leaf("pre", w.text(strings.ReplaceAll(indented, "\t", " ")))
		if name := markdown.LanguageOf(b.Language); code != nil && name != "" {
			code["language"] = name
		}
		return code
	case markdown.Math:
		return w.formula(b.Text, "mathematical_expression")
	case markdown.Quote:
		return w.quote(b, depth)
	case markdown.List:
		return w.list(b, depth)
	case markdown.Table:
		return w.table(b, depth)
	}
	return nil
}

// mostTabs is how many tabs of a piece of code are wide: the others would not leave room for it in a message.
const mostTabs = 1000

// leaf returns a block with a text, or nil if nothing of it is visible.
func (w *richWriter) leaf(kind string, text any) richBlock {
	if text == nil {
		return nil
	}
	w.blocks++
	return richBlock{"type": kind, "text": text}
}

func (w *richWriter) words(text string) richBlock { return w.leaf("paragraph", w.text(text)) }

// text returns s, or nil if nothing of it is visible.
func (w *richWriter) text(s string) any {
	if w.length += markdown.UTF16(s); !visible(s) {
		return nil
	}
	return s
}

// visible reports whether users see any of s: blocks of blanks alone are refused.
func visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != '\u2800' && r != '\ufffc' // empty Braille, and a place for an object
	})
}

// formula returns a formula without the marks around it, as a block or within a line.
func (w *richWriter) formula(s, kind string) richBlock {
	w.length += markdown.UTF16(s) // with the marks, which are words until it is complete
	s = strings.TrimSpace(s)
	for _, mark := range [][2]string{{"$$", "$$"}, {`\[`, `\]`}, {`\(`, `\)`}} {
		if inner, ok := strings.CutPrefix(s, mark[0]); ok {
			s = strings.TrimSpace(strings.TrimSuffix(inner, mark[1]))
			break
		}
	}
	if !visible(s) {
		return nil
	}
	w.blocks++
	return richBlock{"type": kind, "expression": s}
}

// quote returns a quote: a long one of words alone can be opened, and shows its beginning.
func (w *richWriter) quote(q markdown.Quote, depth int) richBlock {
	before := w.length
	blocks := w.pieces(q.Blocks, depth+1)
	if len(blocks) == 0 {
		return nil
	}
	w.blocks++
	words := !slices.ContainsFunc(blocks, func(b richBlock) bool { return b["type"] != "paragraph" })
	if !words || w.length-before <= longQuote {
		return richBlock{"type": "blockquote", "blocks": blocks}
	}
	text := blocks[0]["text"]
	for _, b := range blocks[1:] {
		text = sequence(sequence(text, "\n\n"), b["text"])
		w.length += 2
	}
	return richBlock{"type": "expandable_blockquote", "text": text}
}

// longQuote is the number of characters that a quote shows at once: about a third of the height of a phone.
const longQuote = 500

func (w *richWriter) pieces(all []markdown.Piece, depth int) (blocks []richBlock) {
	for _, p := range all {
		if b := w.block(p.Block, depth); b != nil {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

func (w *richWriter) list(l markdown.List, depth int) richBlock {
	var items []richBlock
	for i, it := range l.Items {
		item := richBlock{"blocks": w.pieces(it.Blocks, depth+2)}
		if len(item["blocks"].([]richBlock)) == 0 {
			continue
		}
		w.blocks++
		if l.Ordered {
			item["value"], item["type"] = l.Start+i, "1"
		}
		if it.Task != markdown.NoTask {
			item["has_checkbox"], item["is_checked"] = true, it.Task == markdown.DoneTask
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		return nil
	}
	w.blocks++
	return richBlock{"type": "list", "items": items}
}

// table returns a table. The cells of columns beyond the last possible one are in that.
func (w *richWriter) table(t markdown.Table, depth int) richBlock {
	rows := [][]richBlock{}
	for i, row := range append([][][]markdown.Inline{t.Head}, t.Rows...) {
		cells := []richBlock{}
		for c, in := range row {
			text := w.lines(in, depth+2)
			if text == nil {
				text = "\u00a0" // without text, it would have no border
				w.length++
			}
			if c >= mostColumns {
				last := cells[mostColumns-1]
				last["text"] = sequence(sequence(last["text"], " | "), text)
				w.length += 3
				continue
			}
			cell := richBlock{"text": text, "align": []string{"left", "center", "right"}[t.Align[c]], "valign": "top"}
			if i == 0 {
				cell["is_header"] = true
			}
			cells = append(cells, cell)
		}
		rows = append(rows, cells)
		w.blocks++
	}
	w.blocks++
	return richBlock{"type": "table", "cells": rows, "is_bordered": true}
}

// noteMark matches the mark of a footnote, or a formula within a line.
var noteMark = regexp.MustCompile(`\[\^([A-Za-z0-9_-]{1,32})\]|\\\(.+?\\\)`)

// noteStart matches the beginning of a footnote.
var noteStart = regexp.MustCompile(`^\[\^([A-Za-z0-9_-]{1,32})\]:[ ]?`)

// footnotes returns the names of the footnotes in pieces, which are lines of paragraphs.
func footnotes(pieces []markdown.Piece) map[string]bool {
	names := map[string]bool{}
	for _, p := range pieces {
		if b, ok := p.Block.(markdown.Paragraph); ok {
			for i, in := range b.Text {
				if m := startOfNote(b.Text, i, in); m != nil {
					names[m[1]] = true
				}
			}
		}
	}
	return names
}

// startOfNote matches in, at index i of text, if it is at the beginning of a line.
func startOfNote(text []markdown.Inline, i int, in markdown.Inline) []string {
	s, ok := in.(markdown.Text)
	if !ok || i > 0 && text[i-1] != (markdown.Break{}) {
		return nil
	}
	return noteStart.FindStringSubmatch(string(s))
}
