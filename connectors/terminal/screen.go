package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// screen shows lines that change at the end of a terminal. It writes again only what the terminal still shows: what has
// scrolled away stays as it was. Every line is one row.
type screen struct {
	out    io.Writer
	height int

	shown   []string // the cursor stands in the row below the last
	gone    int      // so many of them may have scrolled away
	stale   bool     // something has changed that had scrolled away
	resized int      // the new width of the terminal, until the next show; 0 if it is the one that shown was made for
}

// show makes the rows within reach those of lines. It writes nothing where nothing changed.
func (s *screen) show(lines []string) {
	if s.resized > 0 {
		s.rearrange(lines)
		return
	}
	same := 0
	for same < len(lines) && same < len(s.shown) && lines[same] == s.shown[same] {
		same++
	}
	if same == len(lines) && same == len(s.shown) {
		return
	}
	s.gone = max(s.gone, len(s.shown)-(s.height-1))
	if same < s.gone {
		s.stale = true
		same = min(s.gone, len(lines))
	}
	var b strings.Builder
	b.WriteString(erase(len(s.shown) - max(same, s.gone)))
	for _, line := range lines[same:] {
		b.WriteString(line + "\r\n")
	}
	_, _ = io.WriteString(s.out, b.String()) // a terminal that is gone is noticed by who reads from it
	s.shown = slices.Concat(s.shown[:max(same, s.gone)], lines[same:])
}

// finish shows the last lines, and leaves them. What had changed out of reach stands once more below, whole.
func (s *screen) finish(lines []string) {
	s.show(lines)
	if s.stale {
		s.shown, s.gone = nil, 0
		s.show(append([]string{"", "Parts of the answer above have changed. The full answer:", ""}, lines...))
	}
	s.forget()
}

// typed takes note of rows that others have written below: they go with the next change.
func (s *screen) typed(rows int) {
	s.shown = slices.Concat(s.shown, slices.Repeat([]string{"\x00"}, rows))
}

// forget leaves what is shown to itself: what comes next stands below.
func (s *screen) forget() { s.shown, s.gone, s.stale, s.resized = nil, 0, false, 0 }

// resize records that the terminal has another width now. The next lines to show are made for it.
func (s *screen) resize(width int) { s.resized = width }

// rearrange replaces rows that were written for another width. The terminal has wrapped those that became too wide, as
// nearly all terminals do. What has scrolled away can't be replaced; it is not written again either.
func (s *screen) rearrange(lines []string) {
	up, first := 0, len(s.shown)
	for first > s.gone {
		rows := rowsAt(s.shown[first-1], s.resized)
		if up+rows > s.height-1 {
			break
		}
		up += rows
		first--
	}
	left, next := letters(s.shown[:first]), 0
	for rest := left; next < len(lines) && rest != ""; next++ {
		has := letters(lines[next : next+1])
		if len(has) > len(rest) {
			break
		}
		rest = rest[len(has):]
	}
	for i := first; i > 0 && s.shown[i-1] == "" && next < len(lines) && lines[next] == ""; i-- {
		next++ // this empty row has scrolled away
	}
	s.stale = s.stale || !strings.HasPrefix(letters(lines), left)
	s.shown, s.gone, s.resized = slices.Clone(lines[:next]), next, 0
	_, _ = io.WriteString(s.out, erase(up))
	s.show(lines)
}

// erase returns what empties the last rows above the cursor and moves it to the first of them. Each row is emptied by itself:
// tmux keeps a copy of a screen that is cleared from its first row on.
func erase(rows int) string {
	if rows <= 0 {
		return ""
	}
	up := fmt.Sprintf("\x1b[%dA\r", rows)
	return up + strings.Repeat("\x1b[K\n", rows) + up
}

// rowsAt returns how many rows a line takes in a terminal of that width.
func rowsAt(line string, width int) int {
	columns := 0
	for len(line) > 0 {
		if n := sequence(line); n > 0 {
			line = line[n:]
			continue
		}
		var w int
		_, line, w, _ = uniseg.FirstGraphemeClusterInString(line, -1)
		columns += w
	}
	return max(1, (columns+width-1)/width)
}

// letters returns what of lines does not depend on the width that they were made for.
func letters(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		for len(line) > 0 {
			if n := sequence(line); n > 0 {
				line = line[n:]
				continue
			}
			r, n := utf8.DecodeRuneInString(line)
			line = line[n:]
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}
