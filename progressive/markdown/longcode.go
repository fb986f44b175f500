package markdown

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// Attachment is a code block that is too long for the text, see [Limits].
type Attachment struct{ Name, Text string }

// longCode takes code out of a text that grows, piece by piece. Whether a block of code stays in the text is known when
// it ends or is too long: until then its pieces are held back, so that no part is made of them that would have to be
// removed again.
type longCode struct {
	d      *Dialect
	most   int
	glance int      // how much of an open block is shown
	kept   []string // the names of blocks that stay in the text although they are too long
	names  []string // of the blocks that are too long
	blocks [][]Piece
	block  codeBlock
	held   []Piece // of the open block
}

// fork returns a copy that can go on in another way. Its slices are clipped, so that appending to the copy does not
// write into the original's memory.
func (c longCode) fork() longCode {
	c.names, c.blocks, c.held = slices.Clip(c.names), slices.Clip(c.blocks), slices.Clip(c.held)
	return c
}

// add returns the pieces that are certain to stay in the text once p is read.
func (c *longCode) add(p Piece) (sure []Piece) {
	code, ok := p.Block.(Code)
	ok = ok && !code.nested
	if !ok || p.Joint == Apart {
		sure = c.end()
	}
	if !ok || c.block.name == "" && p.Joint != Apart {
		return append(sure, p)
	}
	if c.block.name == "" {
		c.block.name = another(fileName(code), c.names)
	}
	c.held = append(c.held, p)
	c.block.grow(c.d, code, p.Joint)
	if c.block.size > c.most && !c.block.long {
		c.block.long = true
		c.names = append(c.names, c.block.name)
	}
	return sure
}

// all is add for several pieces.
func (c *longCode) all(pieces []Piece) (sure []Piece) {
	for _, p := range pieces {
		sure = append(sure, c.add(p)...)
	}
	return sure
}

// end returns the rest of the open block when it ends: all of it, or the line in place of one that is too long. Its
// beginning is a preview then, shown as long as there is room.
func (c *longCode) end() []Piece {
	held, beginning, block := c.held, c.beginning(), c.block
	c.held, c.block = nil, codeBlock{}
	if block.long {
		c.blocks = append(c.blocks, held)
	}
	if !block.long || slices.Contains(c.kept, block.name) {
		return held
	}
	for i := range beginning {
		beginning[i].preview = true
	}
	return append([]Piece{block.line("📎")}, beginning...)
}

// open returns the pieces that show the open block: all of it if there is room, otherwise its beginning and its length.
func (c *longCode) open() []Piece {
	if c.block.size <= c.glance {
		return c.held
	}
	return append([]Piece{c.block.line("⏳")}, c.beginning()...)
}

// beginning returns what of the open block is shown together with its length.
func (c *longCode) beginning() (pieces []Piece) {
	room := c.glance
	for _, p := range c.held {
		code := p.Block.(Code)
		if size := c.d.Units(code.Text) + 1; size <= room {
			pieces, room = append(pieces, p), room-size
			continue
		}
		if code.Text = c.d.fitting(code.Text, room); code.Text != "" {
			code.Text += "…"
			pieces = append(pieces, Piece{Block: code, Joint: p.Joint})
		}
		break
	}
	return pieces
}

// attachments returns the blocks that were too long.
func (c *longCode) attachments() (files []Attachment) {
	for i, pieces := range c.blocks {
		files = append(files, Attachment{c.names[i], joined(pieces)})
	}
	return files
}

// codeBlock is a block of code as far as it has come.
type codeBlock struct {
	name  string // empty without a block
	size  int
	lines int
	long  bool
}

// grow counts another piece of the block.
func (b *codeBlock) grow(d *Dialect, code Code, joint Joint) {
	if joint == NextLine {
		b.size++
	}
	b.size += d.Units(code.Text)
	b.lines += strings.Count(code.Text, "\n")
	if joint != SameLine {
		b.lines++
	}
}

// line returns the line in place of the block. The name is written as code, since "main.py" would otherwise be made a
// link: .py is a country's domain.
func (b *codeBlock) line(sign string) Piece {
	noun := "lines"
	if b.lines == 1 {
		noun = "line"
	}
	return Piece{Block: Paragraph{[]Inline{Text(sign + " "), Span(b.name), Text(fmt.Sprintf(", %d %s", b.lines, noun))}}}
}

// fitting returns as much of text as fits into room, in whole characters.
func (d *Dialect) fitting(text string, room int) string {
	n := 0
	for rest, state := text, -1; rest != ""; {
		var c string
		c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if room -= d.Units(c); room < 0 {
			break
		}
		n += len(c)
	}
	return text[:n]
}

// joined returns the code in the pieces of one block.
func joined(pieces []Piece) string {
	var b strings.Builder
	for i, p := range pieces {
		if i > 0 && p.Joint == NextLine {
			b.WriteByte('\n')
		}
		b.WriteString(p.Block.(Code).Text)
	}
	b.WriteByte('\n')
	return b.String()
}

// another returns name, with a number if it is taken: a message must not have two files of one name.
func another(name string, taken []string) string {
	base, extension, _ := strings.Cut(name, ".")
	for n := 2; slices.Contains(taken, name); n++ {
		name = fmt.Sprintf("%s-%d.%s", base, n, extension)
	}
	return name
}

// extensions are the extensions of files, by the names that models give to languages. No others are ever used: a name
// that the model made up must not decide which program opens the file.
var extensions = map[string]string{
	"ada": "adb", "asm": "asm", "bash": "sh", "c": "c", "c#": "cs", "c++": "cpp", "clojure": "clj", "cpp": "cpp", "cs": "cs",
	"csharp": "cs", "css": "css", "csv": "csv", "dart": "dart", "diff": "diff", "elixir": "ex", "elm": "elm", "erlang": "erl",
	"fortran": "f90", "fsharp": "fs", "go": "go", "golang": "go", "graphql": "graphql", "h": "h", "haskell": "hs", "hs": "hs",
	"html": "html", "ini": "ini", "java": "java", "javascript": "js", "js": "js", "json": "json", "jsx": "jsx", "julia": "jl",
	"kotlin": "kt", "kt": "kt", "latex": "tex", "lisp": "lisp", "lua": "lua", "markdown": "md", "matlab": "m", "md": "md",
	"nim": "nim", "ocaml": "ml", "pascal": "pas", "perl": "pl", "php": "php", "proto": "proto", "protobuf": "proto", "py": "py",
	"python": "py", "r": "r", "rb": "rb", "rs": "rs", "ruby": "rb", "rust": "rs", "sass": "sass", "scala": "scala", "scss": "scss",
	"sh": "sh", "shell": "sh", "sql": "sql", "svelte": "svelte", "swift": "swift", "terraform": "tf", "tex": "tex", "toml": "toml",
	"ts": "ts", "tsx": "tsx", "typescript": "ts", "vue": "vue", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zig": "zig", "zsh": "sh",
}

const mostName = 60 // bytes of a file's name

var (
	nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*\.[A-Za-z0-9]+$`)
	// A comment that holds a path and nothing else: models name a file like this.
	nameComment = regexp.MustCompile(`^\s*(?://|#|--|/\*|<!--|;|%)\s*(?:[Ff]ile(?:name)?:\s*)?([\w./-]+)\s*(?:\*/|-->)?\s*$`)
)

// fileName returns the name of a file with code: the name in the block's info or in its first line, if it is a plain
// name that fits the language; otherwise "code" with an extension. Directories are removed.
func fileName(code Code) string {
	language, rest := code.Language, ""
	if i := strings.IndexAny(language, " \t:{,"); i >= 0 {
		language, rest = language[:i], language[i:]
	}
	extension, ok := extensions[strings.ToLower(language)]
	if !ok {
		extension = "txt"
	}
	line, _, _ := strings.Cut(code.Text, "\n")
	said := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" \t:={},\"'", r) })
	if m := nameComment.FindStringSubmatch(line[:min(len(line), 4*mostName)]); m != nil {
		said = append(said, m[1])
	}
	for _, s := range said {
		if s = path.Base(s); len(s) <= mostName && nameForm.MatchString(s) && suits(path.Ext(s)[1:], extension) {
			return s
		}
	}
	return "code." + extension
}

// suits reports whether a file of a language may have an extension.
func suits(got, extension string) bool {
	return got == extension || extension != "txt" && extensions[got] == extension || extension == "c" && got == "h" || extension == "cpp" && got == "hpp"
}
