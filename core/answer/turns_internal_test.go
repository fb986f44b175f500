package answer

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// LM-08: a result is cut within its limit, and never inside a character.
func TestLimited(t *testing.T) {
	exact := strings.Repeat("x", maxResult)
	if LimitResult(exact) != exact {
		t.Error("a result within the limit is cut")
	}
	for pad := range 4 {
		got := LimitResult(strings.Repeat("x", maxResult-pad) + strings.Repeat("😀", 5))
		if !utf8.ValidString(got) || len(got) > maxResult+100 || !strings.HasSuffix(got, "longer]") {
			t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
		}
	}
}
