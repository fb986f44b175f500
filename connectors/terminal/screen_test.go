package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

// tty is a terminal of so many rows, with what has scrolled out of it.
type tty struct {
	t      rapid.TB
	height int

	mu    sync.Mutex
	wrote sync.Cond
	gone  []string
	rows  []string // the cursor is in row at, before column x
	at, x int
}

func newTTY(t rapid.TB, height int) *tty {
	y := &tty{t: t, height: height, rows: []string{""}}
	y.wrote.L = &y.mu
	return y
}

func (y *tty) Write(p []byte) (int, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for s := string(p); s != ""; {
		switch {
		case strings.HasPrefix(s, "\x1b["):
			end := strings.IndexFunc(s[2:], unicode.IsLetter) + 2
			y.obey(s[2:end], s[end])
			s = s[end+1:]
		case s[0] == '\r':
			y.x = 0
			s = s[1:]
		case s[0] == '\n':
			y.down()
			s = s[1:]
		default:
			n := len(s)
			if i := strings.IndexAny(s, "\r\n\x1b"); i >= 0 {
				n = i
			}
			y.put([]rune(s[:n]))
			s = s[n:]
		}
	}
	y.wrote.Broadcast()
	return len(p), nil
}

func (y *tty) obey(number string, what byte) {
	n, err := strconv.Atoi(number)
	if err != nil {
		n = 1
	}
	switch what {
	case 'A':
		if y.at -= n; y.at < 0 {
			y.t.Fatalf("the cursor goes %d rows above the screen", -y.at)
		}
	case 'C':
		y.x += n
	case 'D':
		y.x = max(0, y.x-n)
	case 'K':
		y.rows[y.at] = string([]rune(y.rows[y.at])[:y.x])
	case 'J':
		y.rows = append(y.rows[:y.at], "")
	}
}

func (y *tty) put(text []rune) {
	row := []rune(y.rows[y.at])
	y.rows[y.at] = string(slices.Concat(row[:y.x], text, row[min(len(row), y.x+len(text)):]))
	y.x += len(text)
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

// narrow makes the terminal as narrow as width: rows that are wider are wrapped.
func (y *tty) narrow(width int) {
	var rows []string
	for _, row := range y.rows[:y.at] {
		for len(row) > width {
			rows, row = append(rows, row[:width]), row[width:]
		}
		rows = append(rows, row)
	}
	rows = append(rows, "")
	scrolled := max(0, len(rows)-y.height)
	y.gone = append(y.gone, rows[:scrolled]...)
	y.rows, y.at = rows[scrolled:], len(rows)-scrolled-1
}

// until waits for what a person can scroll through to end with rows.
func (y *tty) until(rows ...string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	over := false
	defer time.AfterFunc(30*time.Second, func() { // rather than hang
		y.mu.Lock()
		defer y.mu.Unlock()
		over = true
		y.wrote.Broadcast()
	}).Stop()
	for !slices.Equal(rows, y.last(len(rows))) {
		if over {
			y.t.Fatalf("it shows %q, and never %q", slices.Concat(y.gone, y.rows), rows)
		}
		y.wrote.Wait()
	}
}

func (y *tty) last(n int) []string {
	all := slices.Concat(y.gone, y.written())
	return all[max(0, len(all)-n):]
}

// all is what a person can scroll through, without the row of the cursor.
func (y *tty) all() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	rows := y.written()
	return slices.Concat(y.gone, rows[:len(rows)-1])
}

// written is the rows down to the last that has text, or to the cursor.
func (y *tty) written() []string {
	n := len(y.rows)
	for n-1 > y.at && y.rows[n-1] == "" {
		n--
	}
	return y.rows[:n]
}

// A story of a status that is replaced below a text that goes on, in a terminal of six rows.
func TestScreen(t *testing.T) {
	y := newTTY(t, 6)
	s := screen{out: y, height: 6}
	want := func(lines ...string) {
		t.Helper()
		if got := y.all(); !slices.Equal(got, lines) {
			t.Errorf("the terminal shows %q; want %q", got, lines)
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

// After a change of width each text stands once: what is still on the screen is written for the new width, what has scrolled
// away stays as it was.
func TestScreenOfAnotherWidth(t *testing.T) {
	before := []string{"one two three", "four five six", "", "seven"}
	after := []string{"one two", "three", "four five", "six", "", "seven", "eight"}
	for height, want := range map[int][]string{
		20: after,
		4:  {"one two three", "four five", " six", "", "seven", "eight"}, // the second line is partly out of reach
		3:  {"one two three", "four five six", "", "seven", "eight"},
		2:  {"one two three", "four five six", "", "seven", "eight"},
	} {
		y := newTTY(t, height)
		s := screen{out: y, height: height}
		s.show(before)
		y.narrow(9)
		s.resize(9)
		s.finish(after)
		if got := y.all(); !slices.Equal(got, want) {
			t.Errorf("a terminal of %d rows shows %q, want %q", height, got, want)
		}
	}
}

// A text that changed together with the width is written whole once more where part of the old one has scrolled away.
func TestScreenOfAnotherWidthAndText(t *testing.T) {
	y := newTTY(t, 3)
	s := screen{out: y, height: 3}
	s.show([]string{"Searching for it", "1", "2"})
	y.narrow(9)
	s.resize(9)
	s.finish([]string{"Found it", "1", "2"})
	if got := y.all(); !slices.Equal(got[len(got)-4:], []string{"", "Found it", "1", "2"}) {
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
