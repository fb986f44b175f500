package markdown

import (
	"strings"
	"unicode/utf8"
)

// scanner reads the words of a paragraph with an unknown end once, and finds the open marks: styles, code, links,
// addresses. It approximates the parser's result for the complete text. Where that is ambiguous, it holds the end back.
type scanner struct {
	text string
	at   int
	show int // the end of the text that may be shown
	sure int // the end of what keeps its meaning

	open     []opener // styles, the outer first
	brackets []int
	linked   int // the end of the last link
	growing  int // the beginning of a bare address that reaches the end; 0 if there is none, or if it begins the text
}

// opener is a run of marks that began something.
type opener struct{ at, end int }

// scan goes over the text once, from at on.
func (s *scanner) scan() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '\\':
			s.backslash()
		case '`':
			s.code()
		case '*', '_', '~', '|':
			s.run(c)
		case '[':
			s.brackets = append(s.brackets, s.at)
			s.at++
		case ']':
			s.bracket()
		case '<', '&':
			if rest := s.text[s.at:]; !strings.ContainsAny(rest[1:], " \t\n>;") || breakOpen.MatchString(rest) {
				s.hold(s.at)
			}
			s.at++
		case 'h':
			s.bare()
		default:
			s.at++
		}
	}
	// The beginning of a link, perhaps: its words are not shown before its address is there.
	if len(s.brackets) > 0 {
		s.hold(s.brackets[0])
	}
	if len(s.open) > 0 {
		s.sure = min(s.sure, s.open[0].at)
	}
	s.address()
}

// hold records that the text from at on is open. If it is short, it is not shown; a longer one is shown as it is, since
// users would wait too long for it.
func (s *scanner) hold(at int) {
	s.sure = min(s.sure, at)
	if len(s.text)-at <= mostHeld {
		s.show = min(s.show, at)
		s.drop(at)
	}
}

// drop removes marks that were opened from at on.
func (s *scanner) drop(at int) {
	for len(s.open) > 0 && s.open[len(s.open)-1].at >= at {
		s.open = s.open[:len(s.open)-1]
	}
}

// backslash goes over an escaped character, or over a formula. A formula without an end is held back as long as it may
// still be one.
func (s *scanner) backslash() {
	rest := s.text[s.at:]
	if len(rest) == 1 {
		s.show, s.sure = min(s.show, s.at), min(s.sure, s.at)
	}
	if len(rest) > 1 && rest[1] == '(' {
		if n := formulaEnd([]byte(rest)); n > 0 {
			s.at += n
			return
		}
		if len(rest) <= mostFormula && !strings.Contains(rest, "\n") {
			s.sure = min(s.sure, s.at)
			s.show = min(s.show, s.at)
			s.at = len(s.text)
			return
		}
	}
	s.at = min(s.at+2, len(s.text))
}

// runEnd returns the end of the run of c at i.
func runEnd(text string, i int, c byte) int {
	for i < len(text) && text[i] == c {
		i++
	}
	return i
}

// code reads code within a line. Code without an end yet is open to the end. If that is long, the backtick is probably
// a character.
func (s *scanner) code() {
	end := runEnd(s.text, s.at, '`')
	if end == len(s.text) {
		s.show, s.sure = min(s.show, s.at), min(s.sure, s.at)
		s.at = end
		return
	}
	for i := end; i < len(s.text); {
		if s.text[i] != '`' {
			i++
			continue
		}
		stop := runEnd(s.text, i, '`')
		if stop-i == end-s.at {
			if stop == len(s.text) { // it may become a longer run
				s.sure = min(s.sure, s.at)
			}
			s.at = stop
			return
		}
		if stop == len(s.text) {
			s.show = min(s.show, i)
		}
		i = stop
	}
	s.sure = min(s.sure, s.at)
	if len(s.text)-s.at > mostHealed {
		s.at = end
		return
	}
	s.open = append(s.open, opener{s.at, end})
	s.at = len(s.text)
}

// run reads a run of the marks of a style.
func (s *scanner) run(c byte) {
	end := runEnd(s.text, s.at, c)
	if end == len(s.text) {
		s.show, s.sure = min(s.show, s.at), min(s.sure, s.at) // it may grow
		s.at = end
		return
	}
	before := ' '
	if s.at > 0 {
		before, _ = utf8.DecodeLastRuneInString(s.text[:s.at])
	}
	after, _ := utf8.DecodeRuneInString(s.text[end:])
	open, shut := sides(c, end-s.at, before, after)
	if shut && s.close(c, end) {
		s.at = end
		return
	}
	if open {
		s.open = append(s.open, opener{s.at, end})
	}
	s.at = end
}

// close ends the innermost style if the run is exactly like the one that began it, and reports whether it did.
func (s *scanner) close(c byte, end int) bool {
	if len(s.open) == 0 {
		return false
	}
	o := s.open[len(s.open)-1]
	if s.text[o.at] != c || o.end-o.at != end-s.at {
		return false
	}
	s.open = s.open[:len(s.open)-1]
	return true
}

// bracket reads a closing bracket and the address after it. Until the address is complete, nothing of the link is
// shown.
func (s *scanner) bracket() {
	s.at++
	if len(s.brackets) == 0 {
		return
	}
	from := s.brackets[len(s.brackets)-1]
	switch {
	case s.at == len(s.text):
		return
	case s.text[s.at] == '(':
		end := addressEnd(s.text[s.at:])
		if end == 0 {
			s.at = len(s.text)
			return
		}
		s.at += end
		s.linked = s.at
	}
	s.brackets = s.brackets[:len(s.brackets)-1]
	if len(s.brackets) == 0 {
		s.link(from)
	}
}

// link is called after a link or something else in brackets: styles that began in it and did not end may still do so,
// and then the brackets have another meaning.
func (s *scanner) link(from int) {
	if n := len(s.open); n > 0 && s.open[n-1].at > from {
		s.sure = min(s.sure, from)
	}
}

// addressEnd returns the length of the address in parentheses that s begins with, 0 if it does not end.
func addressEnd(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		case '\n':
			return 1
		}
	}
	return 0
}

// bare reads a bare address. Marks in it have no meaning.
func (s *scanner) bare() {
	n, reach := bareAddress(s.text, s.at, func(mark byte) int {
		for i := len(s.open) - 1; i >= 0; i-- {
			if o := s.open[i]; s.text[o.at] == mark {
				return o.end - o.at
			}
		}
		return 0
	})
	if n > 0 && s.at+reach == len(s.text) && len(s.brackets) == 0 {
		s.growing = s.at
		n = reach // the marks at its end may be in its middle
	}
	s.at += max(n, 1)
}

// address holds back a bare address at the end: it may go on, and a client would make a link of the first half.
func (s *scanner) address() {
	word := s.text[strings.LastIndexAny(s.text, " \t\n(*_~")+1:]
	if s.growing > 0 {
		word = s.text[s.growing:]
	}
	at := len(s.text) - len(word)
	if at < s.linked {
		return
	}
	scheme := strings.Contains(word, "://") || strings.HasPrefix(word, "www.")
	if scheme || strings.Contains(word, "@") {
		s.sure = min(s.sure, at)
	}
	if scheme && len(word) <= mostHeld {
		s.show = min(s.show, at)
		s.drop(at)
	}
}
