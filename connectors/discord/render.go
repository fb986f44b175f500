package discord

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"parley/progressive"
)

const (
	splitAt   = 1900 // UTF-16 units
	mostText  = 2000 // what Discord takes (DR-07)
	mostTable = 100  // characters in a row that is drawn as a table
)

// render makes messages of Markdown, whole or cut off anywhere. Discord reads Markdown itself, but for tables and
// small headings.
func render(markdown string) (parts []progressive.Part) {
	text := dialect(strings.ToValidUTF8(markdown, "\uFFFD"))
	for _, piece := range progressive.Split(text, splitAt, progressive.UTF16Len) {
		if progressive.UTF16Len(piece) > mostText { // a single character of such a length
			continue
		}
		parts = append(parts, progressive.Part{Text: piece, ReplyTo: len(parts) == 0})
	}
	return parts
}

// dialect changes what Discord would show as it is written, outside of code blocks.
func dialect(markdown string) string {
	lines := strings.SplitAfter(markdown, "\n")
	var b strings.Builder
	fence := ""
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		mark := fenceOf(line)
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark {
				fence = ""
			}
			b.WriteString(line)
		case mark != "":
			fence = mark
			b.WriteString(line)
		case tableAt(lines[i:]):
			n := rowsOf(lines[i:])
			writeTable(&b, lines[i:i+n])
			i += n - 1
		default:
			b.WriteString(inline(line))
		}
	}
	return b.String()
}

// fenceOf is the run of marks that opens or closes a code block in line; empty if none does.
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " \t")
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 && (c == "~" || !strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

var (
	smallHeading = regexp.MustCompile(`^ {0,3}#{4,6}[ \t]+(.*?)[ \t]*#*[ \t]*(\r?\n?)$`)
	bareLink     = regexp.MustCompile(`\[(https?://[^\]\s]+)\]\((https?://[^)\s]+)\)`)
)

// inline changes one line. A link whose text is its address is shown as it is written unless it stands alone (DR-13).
func inline(line string) string {
	if h := smallHeading.FindStringSubmatch(line); h != nil && h[1] != "" {
		line = "**" + strings.ReplaceAll(h[1], "**", "") + "**" + h[2]
	}
	return bareLink.ReplaceAllStringFunc(line, func(link string) string {
		if m := bareLink.FindStringSubmatch(link); m[1] == m[2] {
			return m[1]
		}
		return link
	})
}

var tableRule = regexp.MustCompile(`^[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\r?\n?$`)

// tableAt says that lines begin with a table: a row, and a rule of as many cells.
func tableAt(lines []string) bool {
	return len(lines) > 1 && strings.Contains(lines[0], "|") && strings.Contains(lines[1], "|") &&
		tableRule.MatchString(lines[1]) && len(cells(lines[0])) == len(cells(lines[1])) && rowsOf(lines) > 1
}

// rowsOf counts the lines of the table that lines begin with.
func rowsOf(lines []string) (n int) {
	for n < len(lines) && strings.Contains(lines[n], "|") && !strings.Contains(lines[n], "```") {
		n++
	}
	return n
}

func cells(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|")
	all := strings.Split(strings.ReplaceAll(row, `\|`, "\x00"), "|")
	for i, c := range all {
		all[i] = strings.ReplaceAll(strings.TrimSpace(c), "\x00", "|")
	}
	return all
}

// writeTable draws a table in a code block: aligned if its rows are short, else as it was written.
func writeTable(b *strings.Builder, rows []string) {
	b.WriteString("```\n")
	defer func() { b.WriteString("```\n") }()
	var widths []int
	total := 0
	for i, row := range rows {
		if i == 1 {
			continue // the rule
		}
		for j, c := range cells(row) {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			if n := utf8.RuneCountInString(c); n > widths[j] {
				total += n - widths[j]
				widths[j] = n
			}
		}
	}
	for i, row := range rows {
		switch {
		case total > mostTable:
			b.WriteString(strings.TrimRight(row, "\r\n"))
		case i == 1:
			writeRule(b, widths)
		default:
			writeRow(b, cells(row), widths)
		}
		b.WriteByte('\n')
	}
}

func writeRow(b *strings.Builder, row []string, widths []int) {
	for j, c := range row {
		b.WriteString(c)
		if j < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(c)) + " | ")
		}
	}
}

func writeRule(b *strings.Builder, widths []int) {
	for j, w := range widths {
		b.WriteString(strings.Repeat("-", w))
		if j < len(widths)-1 {
			b.WriteString("-+-")
		}
	}
}
