package knowledge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCutAtHeadings(t *testing.T) {
	for text, want := range map[string][]string{
		"Intro\n# A\none\n## B ##\ntwo\n# C\nthree": {"f: Intro", "f, A: one", "f, A › B: two", "f, C: three"},
		"# A\n## B\n### C\ndeep\n## D\nflat":        {"f, A › B › C: deep", "f, A › D: flat"},
		"# A\n```sh\n# no heading\n```\n# B\nb":     {"f, A: ```sh\n# no heading\n```", "f, B: b"},
		"#hashtag\n####### seven\n#":                {"f: #hashtag\n####### seven\n#"},
		"# Only headings\n## here":                  {"f: # Only headings\n## here"},
		"":                                          nil,
		"# A\r\none":                                {"f, A: one"},
	} {
		var got []string
		for _, p := range cut(Document{"f", text}) {
			got = append(got, fmt.Sprint(p.from(), ": ", p.text))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is cut into %q, not %q", text, got, want)
		}
	}
}

func TestPassages(t *testing.T) {
	long := strings.Repeat("word ", 50)
	for text, want := range map[string]int{
		"": 0, " \n\n ": 0, "one": 1, "one\n\ntwo": 1, "one\r\n\r\n" + long + "\n\n" + long: 6, strings.Repeat("x", 250): 3, strings.Repeat("ü", 100): 2,
	} {
		got := passages(text, 100)
		if len(got) != want {
			t.Errorf("%.20q: %d passages: %q; want %d", text, len(got), got, want)
		}
		plain := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if plain(strings.Join(got, "")) != plain(text) {
			t.Errorf("%.20q lost something: %q", text, got)
		}
		for _, p := range got {
			if len(p) > 100+len("word ") || p != strings.ToValidUTF8(p, "?") {
				t.Errorf("%.20q: a passage is %q", text, p)
			}
		}
	}
}
