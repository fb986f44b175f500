package markdown_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"parley/progressive/markdown"
)

const documents = 500

// ST-11, ST-12, TR-09: parts are valid and within limits, and nothing is lost.
func TestRandomDocuments(t *testing.T) {
	for seed := range uint64(documents) {
		text := generate(seed)
		r := rand.New(rand.NewPCG(seed, 1))
		check(t, markdown.Parse(text), 64+r.IntN(2000))
		check(t, markdown.Interim(text[:r.IntN(len(text)+1)]), 64+r.IntN(500))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// The same for text that no one would write.
func TestNoiseKeepsTheRules(t *testing.T) {
	for seed := range uint64(documents / 5) {
		r := rand.New(rand.NewPCG(seed, 9))
		text := noise(r)
		check(t, markdown.Interim(text[:r.IntN(len(text)+1)]), 64+r.IntN(300))
		check(t, markdown.Parse(text), 64+r.IntN(300))
		checkStable(t, text, r)
	}
}

// ST-13: what is stable of a prefix is what the whole begins with.
func TestStablePieces(t *testing.T) {
	for seed := range uint64(documents) {
		checkStable(t, generate(seed), rand.New(rand.NewPCG(seed, 2)))
	}
}

func checkStable(t testing.TB, text string, r *rand.Rand) {
	t.Helper()
	whole := markdown.Parse(text).Pieces
	s := markdown.NewStream()
	for from := 0; from < len(text); {
		to := min(len(text), from+1+r.IntN(90))
		s.Append(text[from:to])
		from = to
		doc := s.Interim()
		if n := doc.Stable(); n > len(whole) || n > 0 && !reflect.DeepEqual(doc.Pieces[:n], whole[:n]) {
			t.Fatalf("of %q stable:\n%+v\nwhole:\n%+v", text[:from], doc.Pieces[:n], whole)
		}
	}
	if got := s.Whole().Pieces; len(got)+len(whole) > 0 && !reflect.DeepEqual(got, whole) {
		t.Fatalf("streamed:\n%+v\nwhole:\n%+v", got, whole)
	}
}

// ST-19: while a text grows, parts before the last one never change.
func TestFullPartsStay(t *testing.T) {
	for seed := range uint64(documents) {
		t.Run("", func(t *testing.T) { checkGrowth(t, seed) })
	}
}

func checkGrowth(t *testing.T, seed uint64) {
	text := generate(seed) + "\n\n" + generate(seed+documents)
	r := rand.New(rand.NewPCG(seed, 3))
	l := markdown.Limits{Length: 64 + r.IntN(900), Entities: 90}
	d := dialects()[seed%4]
	inc := markdown.NewRenderer(d.d, l)
	var full []markdown.Rendered
	for at := 0; at <= len(text); at += 1 + r.IntN(250) {
		full = checkFull(t, seed, text[:at], full, inc.Render(text[:at], false))
	}
	parts := inc.Render(text, true)
	checkFull(t, seed, text, full, parts)
	if again := markdown.Render(markdown.Parse(text), d.d, l); !slices.Equal(parts, again) {
		t.Fatalf("%s, seed %d: streamed\n%q\nat once\n%q", d.name, seed, parts, again)
	}
}

func checkFull(t *testing.T, seed uint64, text string, full, parts []markdown.Rendered) []markdown.Rendered {
	t.Helper()
	for i, p := range full {
		if i >= len(parts) {
			t.Fatalf("seed %d: part %d is gone after %q", seed, i, end(text))
		}
		if parts[i] != p {
			t.Fatalf("seed %d: part %d was\n%q\nand is\n%q\nafter %q", seed, i, end(p.Text), end(parts[i].Text), end(text))
		}
	}
	if len(parts) > 0 {
		return parts[:len(parts)-1]
	}
	return full
}

// end is what to tell of a long text.
func end(s string) string { return s[max(0, len(s)-300):] }

// A view depends on the text alone, not on how it came.
func TestAnySchedule(t *testing.T) {
	for seed := range uint64(40) {
		text := generate(seed)
		r := rand.New(rand.NewPCG(seed, 4))
		l := markdown.Limits{Length: 300, Entities: 90}
		inc := markdown.NewRenderer(markdown.Light(), l)
		for at := 0; at <= len(text); at += 1 + r.IntN(60) {
			got, want := inc.Render(text[:at], false), markdown.Render(markdown.Interim(text[:at]), markdown.Light(), l)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d at %d: step by step\n%q\nat once\n%q", seed, at, got, want)
			}
		}
		if got := inc.Render("other", true); len(got) != 1 || got[0].Text != "other" {
			t.Fatalf("another text: %q", got)
		}
	}
}

// ST-12: characters stay whole.
func TestWholeCharacters(t *testing.T) {
	const unit = "👨\u200d👩\u200d👧\u200d👦é🇩🇪नि"
	text := strings.Repeat(unit, 60)
	for limit := 64; limit < 140; limit++ {
		var again strings.Builder
		for _, p := range markdown.Render(markdown.Parse(text), markdown.Plain(), markdown.Limits{Length: limit}) {
			again.WriteString(p.Plain)
			if n, m := uniseg.GraphemeClusterCount(p.Plain), len(clusters(unit)); limit > 100 && n < m {
				t.Fatalf("only %d characters in a part at %d", n, limit)
			}
			for c := range clusters(p.Plain) {
				if !strings.Contains(unit, clusters(p.Plain)[c]) {
					t.Fatalf("%q was torn at %d", clusters(p.Plain)[c], limit)
				}
			}
		}
		if again.String() != text {
			t.Fatalf("lost at %d: %q; want %q", limit, again.String(), text)
		}
	}
	long := "e" + strings.Repeat("\u0301", 5000)
	for _, p := range markdown.Render(markdown.Parse(long), markdown.Plain(), markdown.Limits{Length: 64}) {
		if markdown.UTF16(p.Text) > 64 {
			t.Fatal("too long a character is not cut")
		}
	}
}

func clusters(s string) (all []string) {
	g := uniseg.NewGraphemes(s)
	for g.Next() {
		all = append(all, g.Str())
	}
	return all
}

func FuzzRender(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(generate(seed), uint16(100), uint16(50))
	}
	for _, s := range adversarial(200) {
		f.Add(s, uint16(0), uint16(100))
	}
	f.Fuzz(func(t *testing.T, text string, limit, cut uint16) {
		text = text[:min(len(text), 3000)]
		at := min(int(cut), len(text))
		check(t, markdown.Interim(text[:at]), 64+int(limit)%4000)
		check(t, markdown.Parse(text), 64+int(limit)%4000)
		checkStable(t, text, rand.New(rand.NewPCG(uint64(cut), 5)))
	})
}

// adversarial is what makes parsers slow (SE-11).
func adversarial(n int) []string {
	var all []string
	for _, s := range []string{"**", "*a ", "**a ", "[", "[a](", "![", "]", "`a``", "`", "<", "<a:", "~~", "_a_", "*_", "&", "\\", "> ", ">", "- ",
		"1. ", "www.", "https://a.bc/*_", "https://", "a@b.", "|", "||", "\\|", "#", "```\n", "$$\n", "\\(", "🏴\U000e0067", "\u0301", "\xf0", "- a\n", "a|b\n", "> a\n\n", " ", "\t", "\n",
		"x", "字", "- _a\n", "- - - a\n", ">>>> a\n", "````\n```\n", "`` ` ``` ", "|a|b|\n|-|-|\n", "a\n-\n", "a **b _c "} {
		all = append(all, strings.Repeat(s, n))
	}
	return append(all, "|a|\n|-|\n"+strings.Repeat("|", n), "|a|\n|-|\n"+strings.Repeat("|`\\|`|\n", n))
}

// SE-09, SE-01: nothing hidden comes out, and nothing that people write is hurt.
func TestHiddenCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"a\u202eb\u202cc\u2066d\u2069":                  "abcd",
		"a\x00\x1b[31mb\x7f\u0085c":                     "a[31mb\nc",
		"می\u200cخواهم":                                 "می\u200cخواهم",
		"नि क्\u200dष":                                  "नि क्\u200dष",
		"👨\u200d👩\u200d👧\u200d👦 🇩🇪":                     "👨\u200d👩\u200d👧\u200d👦 🇩🇪",
		"🏴\U000e0067\U000e0062\U000e0065\U000e007f":     "🏴\U000e0067\U000e0062\U000e0065\U000e007f",
		"x\U000e0041\U000e0042y 🏴\U000e0041\U000e0042z": "xy 🏴z",
		"\xff\xfea\xe2\x82":                             "\ufffd\ufffda\ufffd\ufffd",
		"a\r\nb\rc\u2028d":                              "a\nb\nc\nd",
		"&#x202e;&#0;&#27;x":                            "\ufffdx",
		"\u200fשלום\u200e":                              "\u200fשלום\u200e",
	} {
		for cut := range len(in) {
			s := markdown.NewStream()
			s.Append(in[:cut])
			s.Append(in[cut:])
			parts := markdown.Render(s.Whole(), markdown.Plain(), markdown.Limits{})
			if len(parts) != 1 || parts[0].Plain != want {
				t.Fatalf("%q at %d: %q, want %q", in, cut, parts, want)
			}
		}
	}
}
