package markdown_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// writer makes random documents that look like what models write, with the mistakes they make.
type writer struct {
	*rand.Rand
	b strings.Builder
}

func generate(seed uint64) string {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 7))}
	for range 1 + w.IntN(9) {
		w.block("", 0)
		w.b.WriteString([]string{"\n\n", "\n\n", "\n\n", "\n", "\n\n\n"}[w.IntN(5)])
	}
	return w.b.String()
}

func (w *writer) pick(of ...string) string { return of[w.IntN(len(of))] }

func (w *writer) block(margin string, depth int) {
	switch n := w.IntN(12); {
	case n < 3:
		w.b.WriteString(w.inlines(1 + w.IntN(40)))
	case n == 3:
		w.b.WriteString(strings.Repeat("#", 1+w.IntN(6)) + " " + w.inlines(1+w.IntN(4)))
	case n == 4 && depth < 3:
		w.list(margin, depth)
	case n == 5 && depth < 3:
		w.b.WriteString("> ")
		w.block(margin+"> ", depth+1)
	case n == 6:
		w.code(margin)
	case n == 7:
		w.table(margin)
	case n == 8:
		w.b.WriteString(w.pick("---", "***", "___", "$$\nx_1 + *y*\n$$", `\[ a*b*c \]`))
	case n == 9 && depth < 3:
		w.list(margin, depth)
	case n == 10:
		for range 1 + w.IntN(5) {
			w.b.WriteString(w.inlines(1+w.IntN(9)) + "\n" + margin)
		}
	default:
		w.b.WriteString(w.inlines(10 + w.IntN(120)))
	}
}

func (w *writer) list(margin string, depth int) {
	ordered := w.IntN(2) == 0
	n := 1 + w.IntN(5)
	for i := range n {
		mark := "- "
		if ordered {
			mark = fmt.Sprintf("%d. ", i+1)
		}
		w.b.WriteString(mark + w.pick("", "", "", "[ ] ", "[x] ") + w.inlines(1+w.IntN(12)))
		inner := margin + strings.Repeat(" ", len(mark))
		if w.IntN(4) == 0 {
			w.b.WriteString(w.pick("\n", "\n\n") + inner)
			w.block(inner, depth+1)
		}
		if i < n-1 {
			w.b.WriteString(w.pick("\n", "\n", "\n", "\n\n") + margin)
		}
	}
}

func (w *writer) code(margin string) {
	w.b.WriteString("```" + w.pick("go", "python", "", "c++", "text with words") + "\n" + margin)
	for range w.IntN(12) {
		w.b.WriteString(w.pick("if a < b && c > d {", "\treturn \"x\"", "", "# not a heading", "x := `raw`", "``", "- no item", "**no**",
			"日本語のコメント // 注", "a very long line of code that goes on and on, with arguments and more arguments") + "\n" + margin)
	}
	if w.IntN(6) > 0 {
		w.b.WriteString("```")
	}
}

func (w *writer) table(margin string) {
	columns := 1 + w.IntN(4)
	row := func(cell func() string) {
		for range columns {
			w.b.WriteString("| " + cell() + " ")
		}
		w.b.WriteString("|\n" + margin)
	}
	row(func() string { return w.word() })
	row(func() string { return w.pick("---", ":--", "--:", ":-:") })
	words := 1 + w.IntN(4)
	for range w.IntN(14) {
		row(func() string { return w.inlines(w.IntN(words + 1)) })
	}
}

func (w *writer) inlines(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(w.pick(" ", " ", " ", " ", " ", ", ", ". ", "! "))
		}
		switch w.IntN(24) {
		case 0:
			b.WriteString("**" + w.inlines(1+w.IntN(3)) + "**")
		case 1:
			b.WriteString("*" + w.word() + "*")
		case 2:
			b.WriteString("`" + w.word() + "`")
		case 3:
			b.WriteString("[" + w.word() + "](https://example.org/" + w.pick("a", "b_c", "d?e=f&g=h", "x(y)") + ")")
		case 4:
			b.WriteString(w.pick("~~"+w.word()+"~~", "||"+w.word()+"||", "https://example.org/a_b", "https://example.org/*/_c_", "<https://x.org>", `\(a_1\)`, "a@b.org"))
		case 5:
			b.WriteString(w.pick("*", "**", "_", "`", "[", "]", "<", "&", "|", "~", "<think>", "2 * 3", "\\", "&amp;", "![i](http://e.org/i.png)"))
		default:
			b.WriteString(w.word())
		}
	}
	return b.String()
}

func (w *writer) word() string {
	return w.pick("a", "the", "gateway", "message", "answers", "snake_case", "don't", "(see", "above)", "3.14", "日本語の文。", "漢字", "👨\u200d👩\u200d👧\u200d👦",
		"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🇩🇪", "سلام", "می\u200cخواهم", "हिन्दी", "e\u0301te\u0301", "x", "of", "and", "text", "1.", "#tag", "@name",
		"extraordinarily", "C++", "a/b", "“quoted”")
}

// noise is markup without sense.
func noise(r *rand.Rand) string {
	marks := []string{"*", "**", "_", "`", "```", "\n", "\n\n", "[", "](", ")", "]", "<", ">", "> ", "- ", "1. ", "    ", "|", "||", "~~", "\\", "&", "#",
		" ", "a", "字", "\u0301", "\xff", "---", "===", "|-|", "$$", "\\[", "\\(", "https://a.b", "https://a.bc/*", "@", "\t", "\u200d", "🏴", "\U000e0067", "\r", " .", ":"}
	var b strings.Builder
	for range r.IntN(300) {
		b.WriteString(strings.Repeat(marks[r.IntN(len(marks))], 1+r.IntN(3)*r.IntN(3)*r.IntN(3)))
	}
	return b.String()
}
