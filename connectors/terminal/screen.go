package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// screen shows changing lines at the end of a terminal. It rewrites only rows that are still visible: lines that have
// scrolled away can't be changed by any control sequence. Every line is one row; the caller folds longer ones.
//
// It needs no alternate screen, so that the conversation stays in the terminal's history, where users scroll and copy.
type screen struct {
	out     io.Writer
	height  int
	changed string // the line above the lines that are shown once more

	shown   []string // the cursor is in the row below the last
	gone    int      // this many of them may have scrolled away
	stale   bool     // a line that had scrolled away has changed
	resized int      // the terminal's new width until the next show; 0 if shown was made for the current width
}

// show updates the visible rows to lines. It writes nothing if nothing changed, and otherwise only from the first
// changed row on, in one write, so that nothing flickers.
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
	// The cursor's row takes one of the rows, so at most height-1 of the lines are still visible.
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
	_, _ = io.WriteString(s.out, b.String()) // the reader of the terminal notices when it is gone
	s.shown = slices.Concat(s.shown[:max(same, s.gone)], lines[same:])
}

// finish shows the final lines. If a line changed after scrolling away, it writes all of them once more below.
func (s *screen) finish(lines []string) {
	s.show(lines)
	if s.stale {
		s.shown, s.gone = nil, 0
		s.show(append([]string{"", s.changed, ""}, lines...))
	}
	s.forget()
}

// typed accounts for rows that the user's input has added below: the next change removes them.
func (s *screen) typed(rows int) {
	s.shown = slices.Concat(s.shown, slices.Repeat([]string{"\x00"}, rows))
}

// forget detaches from the shown lines: the next ones appear below.
func (s *screen) forget() { s.shown, s.gone, s.stale, s.resized = nil, 0, false, 0 }

// resize records the terminal's new width. The next lines to show are made for it.
func (s *screen) resize(width int) { s.resized = width }

// rearrange replaces rows that were written for another width. It assumes that the terminal has wrapped rows that are
// now too wide, as nearly all terminals do. Rows that have scrolled away are neither replaced nor repeated: which part
// of the new lines they show is found by comparing letters and digits, since line breaks, borders and padding differ
// between widths.
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

// erase returns the sequence that clears the last rows above the cursor and moves it to the first of them. It clears
// each row separately, because tmux keeps a copy of a screen that is cleared from its first row on.
func erase(rows int) string {
	if rows <= 0 {
		return ""
	}
	up := fmt.Sprintf("\x1b[%dA\r", rows)
	return up + strings.Repeat("\x1b[K\n", rows) + up
}

// rowsAt returns how many rows a line takes in a terminal of the given width.
func rowsAt(line string, width int) int {
	return max(1, (uniseg.StringWidth(written(line))+width-1)/width)
}

// letters returns the part of lines that does not depend on their width.
func letters(lines []string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, written(strings.Join(lines, "\n")))
}
