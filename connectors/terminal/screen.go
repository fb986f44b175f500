package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// screen shows lines that change at the end of a terminal. It writes again only what the terminal still shows: what has
// scrolled away stays as it was. Every line is one row.
type screen struct {
	out    io.Writer
	height int

	shown []string // the cursor stands in the row below the last
	gone  int      // so many of them may have scrolled away
	stale bool     // something has changed that had scrolled away
}

// show makes the rows within reach those of lines. It writes nothing where nothing changed.
func (s *screen) show(lines []string) {
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
	if up := len(s.shown) - max(same, s.gone); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", up)
	}
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
		s.show(append([]string{"", "Above, some of this has changed since. The whole answer:", ""}, lines...))
	}
	s.forget()
}

// typed takes note of rows that others have written below: they go with the next change.
func (s *screen) typed(rows int) {
	s.shown = slices.Concat(s.shown, slices.Repeat([]string{"\x00"}, rows))
}

// forget leaves what is shown to itself: what comes next stands below.
func (s *screen) forget() { s.shown, s.gone, s.stale = nil, 0, false }
