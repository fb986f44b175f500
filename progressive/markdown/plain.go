package markdown

import "strconv"

// Plain returns the dialect of platforms without markup: the notation is the visible text. The other dialects are made
// from it.
func Plain() Dialect {
	return Dialect{
		Mark:    func(Mark) (Markup, bool) { return Markup{}, false },
		Escape:  func(text string, i, end int, _ Place) string { return text[i:end] },
		Links:   func(string) bool { return false },
		Heading: func(int) (string, []Kind) { return "", nil },
		Bullet: func(n int, l List, task Task) (string, string) {
			b := bullet(n, l, task)
			return b, b
		},
		Units:       UTF16,
		QuotePrefix: "> ",
		QuoteReads:  "> ",
		Rule:        drawnRule,
		RuleReads:   drawnRule,
		Tab:         "\t",
	}
}

const drawnRule = "──────────"

// bullet returns what people see before an item.
func bullet(n int, l List, task Task) string {
	box := map[Task]string{OpenTask: "☐ ", DoneTask: "☑ "}[task]
	switch {
	case l.Ordered:
		return strconv.Itoa(n) + ". " + box
	case box != "":
		return box
	}
	return "• "
}
