package progressive

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

func TestSplit(t *testing.T) {
	long := strings.Repeat("word ", 12) + "end."
	for name, c := range map[string]struct {
		text  string
		limit int
		want  []string
	}{
		"empty":                  {"", 64, nil},
		"fits":                   {"hello", 5, []string{"hello"}},
		"paragraph before line":  {strings.Repeat("a", 40) + "\n\nbb\ncc dd ee ff gg hh ii", 64, []string{strings.Repeat("a", 40) + "\n\n", "bb\ncc dd ee ff gg hh ii"}},
		"line before sentence":   {strings.Repeat("a", 40) + "\nb. " + long, 64, []string{strings.Repeat("a", 40) + "\n", "b. word word word word word word word word word word word word ", "end."}},
		"sentence before word":   {"This is a sentence of words. And this one is the longer one. no", 50, []string{"This is a sentence of words. ", "And this one is the longer one. no"}},
		"sentence with a quote":  {"He said: “this is enough of it.” And then nothing more.", 40, []string{"He said: “this is enough of it.” ", "And then nothing more."}},
		"sentence without space": {strings.Repeat("语", 30) + "。" + strings.Repeat("文", 30), 50, []string{strings.Repeat("语", 30) + "。", strings.Repeat("文", 30)}},
		"word":                   {"one two three four", 10, []string{"one two ", "three four"}},
		"character":              {strings.Repeat("x", 25), 10, []string{strings.Repeat("x", 10), strings.Repeat("x", 10), "xxxxx"}},
		"emoji is two units":     {"😀😀😀", 5, []string{"😀😀", "😀"}},
		"family stays whole":     {"abc👨‍👩‍👧‍👦", 12, []string{"abc", "👨‍👩‍👧‍👦"}},
		"flags stay whole":       {"🇩🇪🇫🇷", 6, []string{"🇩🇪", "🇫🇷"}},
		"less than a character":  {"👨‍👩‍👧a", 1, []string{"👨", "\u200d", "👩", "\u200d", "👧", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Split(c.text, c.limit, UTF16Len)
			if strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestSplitKeepsLinksWhole(t *testing.T) {
	text := strings.Repeat("word ", 10) + "[a long label](http://example.com) end"
	if got := Split(text, 66, UTF16Len); len(got) != 2 || !strings.HasPrefix(got[1], "[a long") {
		t.Errorf("%q", got)
	}
}

// ST-11
func TestSplitReopensFences(t *testing.T) {
	code := strings.Repeat("x := 1\n", 20)
	got := Split("intro\n\n```go\n"+code+"```\ntail", 80, UTF16Len)
	for i, p := range got {
		if n := UTF16Len(p); n > 80 {
			t.Errorf("part %d has %d units", i, n)
		}
		if strings.Count(p, "```")%2 != 0 {
			t.Errorf("part %d: %q", i, p)
		}
		if i > 0 && i < len(got)-1 && !strings.HasPrefix(p, "```go\nx := 1\n") {
			t.Errorf("part %d lost its language: %q", i, p)
		}
	}
	long := Split("```"+strings.Repeat("long", 50)+"\n"+code+"```", 80, UTF16Len)
	if last := long[len(long)-1]; !strings.HasPrefix(last, "```\nx") {
		t.Errorf("not a bare fence: %q", last)
	}
}

// A fence that begins near the limit goes to the next part as a whole.
func TestSplitLeavesNoEmptyBlock(t *testing.T) {
	text := strings.Repeat("word ", 11) + "\n```go\n" + strings.Repeat("y\n", 20) + "```\n"
	got := Split(text, 66, UTF16Len)
	if strings.Contains(got[0], "```") || !strings.HasPrefix(got[1], "```go\ny") {
		t.Errorf("%q", got)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"", "plain words, and more of them.", "```go\nx\n```", "~~~\n```\n~~~\n", "a\n\n\nb\r\n\r\nc", "````\n```\n````", "```a`b\n```\n",
		"e\u0301\u0301\u0301", "👨‍👩‍👧‍👦🇩🇪", "مرحبا بالعالم", "  ```\n\tindented\n  ```", "[a](b) [c", strings.Repeat("`", 40), "\xff\xfe", "one ```two",
	} {
		f.Add(strings.Repeat(s, 7), 64, 100)
		f.Add(strings.Repeat(s+" ", 30), 71, 33)
	}
	f.Fuzz(func(t *testing.T, text string, limit, prefix int) {
		if limit = 64 + abs(limit)%200; len(text) > 4000 {
			t.Skip("long enough is short enough")
		}
		pieces := split(text, limit, UTF16Len)
		checkPieces(t, text, limit, pieces)
		if prefix = abs(prefix) % (len(text) + 1); !utf8.ValidString(text) || !utf8.ValidString(text[:prefix]) {
			return
		}
		early := split(text[:prefix], limit, UTF16Len) // ST-19
		for i := range len(early) - 1 {
			if early[i] != pieces[i] {
				t.Errorf("part %d of the first %d bytes was %q and became %q", i, prefix, early[i], pieces[i])
			}
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

// checkPieces holds pieces against ST-11 and ST-12.
func checkPieces(t *testing.T, text string, limit int, pieces []piece) {
	t.Helper()
	joined := ""
	for i, p := range pieces {
		joined += p.text
		whole := p.open + p.text + p.shut
		if p.text == "" {
			t.Errorf("part %d is empty", i)
		}
		if n := UTF16Len(whole); n > limit {
			t.Errorf("part %d has %d units of %d: %q", i, n, limit, whole)
		}
		if utf8.ValidString(text) && !utf8.ValidString(whole) {
			t.Errorf("part %d tears a rune: %q", i, whole)
		}
		var f fences
		for j := range len(whole) {
			f.read(whole[j])
		}
		if mark, _ := f.state(); mark != "" {
			t.Errorf("part %d leaves %q open: %q", i, mark, whole)
		}
	}
	if joined != text {
		t.Errorf("joined %q, want %q", joined, text)
	}
	checkCharacters(t, text, limit, pieces)
}

// checkCharacters finds characters that were torn though they would have fitted into a part.
func checkCharacters(t *testing.T, text string, limit int, pieces []piece) {
	t.Helper()
	cuts, at := map[int]bool{}, 0
	for _, p := range pieces {
		at += len(p.text)
		cuts[at] = true
	}
	g := uniseg.NewGraphemes(text)
	for g.Next() {
		from, to := g.Positions()
		if UTF16Len(g.Str()) > limit/4 {
			continue
		}
		for i := from + 1; i < to; i++ {
			if cuts[i] {
				t.Errorf("%q is torn", g.Str())
			}
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("Some words in a sentence. And another one!\n\n```go\nfmt.Println(1)\n```\n", 3000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Split(text, 1900, UTF16Len)
	}
}
