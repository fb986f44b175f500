package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tty is a terminal of so many rows, with what has scrolled out of it.
type tty struct {
	t      rapid.TB
	height int
	gone   []string
	rows   []string // the cursor is in row at
	at     int
}

func newTTY(t rapid.TB, height int) *tty { return &tty{t: t, height: height, rows: []string{""}} }

func (y *tty) Write(p []byte) (int, error) {
	for s := string(p); s != ""; {
		switch {
		case strings.HasPrefix(s, "\x1b["):
			end := strings.IndexAny(s, "AJ")
			if s[end] == 'A' {
				n, _ := strconv.Atoi(s[2:end])
				if y.at -= n; y.at < 0 {
					y.t.Fatalf("the cursor goes %d rows above the screen", -y.at)
				}
			} else {
				y.rows = append(y.rows[:y.at], "")
			}
			s = s[end+1:]
		case s[0] == '\r':
			s = s[1:]
		case s[0] == '\n':
			y.down()
			s = s[1:]
		default:
			n := strings.IndexAny(s, "\r\n\x1b")
			y.rows[y.at] += s[:n]
			s = s[n:]
		}
	}
	return len(p), nil
}

func (y *tty) down() {
	if y.at++; y.at == len(y.rows) {
		y.rows = append(y.rows, "")
	}
	if len(y.rows) > y.height {
		y.gone = append(y.gone, y.rows[0])
		y.rows = y.rows[1:]
		y.at--
	}
}

// all is what a person can scroll through, without the row of the cursor.
func (y *tty) all() []string { return slices.Concat(y.gone, y.rows[:len(y.rows)-1]) }

// A story of a status that is replaced below a text that goes on, in a terminal of six rows.
func TestScreen(t *testing.T) {
	y := newTTY(t, 6)
	s := screen{out: y, height: 6}
	want := func(lines ...string) {
		t.Helper()
		if got := y.all(); !slices.Equal(got, lines) {
			t.Errorf("the terminal shows %q", got)
		}
	}
	s.show([]string{"Hello"})
	s.show([]string{"Hello, Ada", "", "Searching…"})
	want("Hello, Ada", "", "Searching…")
	s.show([]string{"Hello, Ada", "", "Now playing", "", "one"})
	want("Hello, Ada", "", "Now playing", "", "one")
	s.show([]string{"Hello, Ada", "", "Now playing", "", "one", "two", "three"})
	s.finish([]string{"Hello, Ada", "", "Now playing", "", "one", "two", "four"})
	want("Hello, Ada", "", "Now playing", "", "one", "two", "four")
	s.show([]string{"the next"})
	s.finish([]string{"the next answer"})
	want("Hello, Ada", "", "Now playing", "", "one", "two", "four", "the next answer")
}

// What scrolled away is not written again where it stands: the whole stands once more below, if it has changed.
func TestScreenOutOfReach(t *testing.T) {
	y := newTTY(t, 4)
	s := screen{out: y, height: 4}
	s.show([]string{"Searching…", "1", "2", "3", "4"})
	s.show([]string{"Found", "1", "2", "3", "5"})
	if got := y.all(); !slices.Equal(got, []string{"Searching…", "1", "2", "3", "5"}) {
		t.Errorf("the terminal shows %q", got)
	}
	s.finish([]string{"Found", "1", "2", "3", "5"})
	got := y.all()
	if len(got) != 13 || !slices.Equal(got[8:], []string{"Found", "1", "2", "3", "5"}) || got[0] != "Searching…" {
		t.Errorf("the terminal shows %q", got)
	}
}

// However lines change, the last ones stand there whole at the end, and nothing beyond the screen was touched.
func TestScreenShowsTheLastLines(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("line ", rapid.IntRange(0, 4).Draw(t, "n")) })
	rapid.Check(t, func(t *rapid.T) {
		height := rapid.IntRange(2, 8).Draw(t, "height")
		y := newTTY(t, height)
		s := screen{out: y, height: height}
		for range rapid.IntRange(1, 3).Draw(t, "answers") {
			begun := len(y.all())
			var lines []string
			for range rapid.IntRange(0, 8).Draw(t, "steps") {
				lines = slices.Concat(lines[:rapid.IntRange(0, len(lines)).Draw(t, "keep")], rapid.SliceOfN(line, 0, 6).Draw(t, "lines"))
				s.show(lines)
			}
			s.finish(lines)
			got := y.all()[begun:]
			if len(got) < len(lines) || !slices.Equal(got[len(got)-len(lines):], lines) {
				t.Fatalf("at the end %q, want %q", got, lines)
			}
		}
	})
}
