package text

import (
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]int{"": 0, "word": 1, "four words in English": 6, "слово": 3, "日本語": 3, "👍": 1} {
		if got := Tokens(text); got != want {
			t.Errorf("%q is %d tokens; want %d", text, got, want)
		}
	}
	for _, text := range []string{strings.Repeat("word ", 500), strings.Repeat("слово ", 500), strings.Repeat("語", 500)} {
		if got := CutTokens(text, 100); Tokens(got) > 100 || Tokens(got) < 80 || !strings.HasSuffix(got, CutMark) {
			t.Errorf("cut to 100 it has %d tokens", Tokens(got))
		}
		if CutTokens(text, 10_000) != text {
			t.Error("a text that fits is cut")
		}
	}
}
