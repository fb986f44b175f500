package markdown_test

import (
	"runtime"
	"strings"
	"testing"

	"parley/progressive/markdown"
)

// long is an answer of at least n bytes, of one kind.
func long(kind string, n int) string {
	parts := map[string][2]string{
		"blocks":    {"", "## A heading\n\nSome **bold** text with `code` and [a link](https://example.org/a).\n\n- one\n- two\n\n"},
		"code":      {"```go\n", "\tif err := run(ctx); err != nil { return err }\n"},
		"list":      {"", "1. an item with *some* words in it, not many\n"},
		"loose":     {"", "- an item\n\n  with a second paragraph\n\n"},
		"table":     {"| a | b |\n|---|---|\n", "| cell | another cell |\n"},
		"quote":     {"", "> quoted words that go on\n"},
		"paragraph": {"", "words that never end, **not even** here, "},
		"cjk":       {"", "日本語の文章はどこまでも続く。"},
		"letters":   {"", "x"},
	}[kind]
	return parts[0] + strings.Repeat(parts[1], n/len(parts[1])+1)
}

// SE-11, ST-22: what a view costs does not depend on how long the text was before. 200 KB in 50,000 deltas, shown at
// several schedules.
func TestWorkIsLinear(t *testing.T) {
	const size, delta = 200_000, 4
	for _, kind := range []string{"blocks", "code", "list", "loose", "table", "quote", "paragraph", "cjk", "letters"} {
		for _, every := range []int{1000, 50_000} { // deltas for one view
			checkWork(t, markdown.Light(), long(kind, size), every*delta, 0)
			if kind == "code" {
				checkWork(t, markdown.Light(), long(kind, size), every*delta, 3800)
			}
		}
	}
}

// The same for pathological input, in every dialect.
func TestAdversarialWorkIsLinear(t *testing.T) {
	for i, text := range adversarial(40_000) {
		checkWork(t, dialects()[i%4].d, text[:40_000], 3000, i%3*1000)
	}
}

// checkWork shows text at every so many bytes, with files of code that is longer than code.
func checkWork(t *testing.T, d markdown.Dialect, text string, every, code int) {
	t.Helper()
	r := markdown.NewRenderer(d, markdown.Limits{Length: 1900, Entities: 90, Code: code})
	views := 0
	for i := every; i < len(text); i += every {
		r.Render(text[:i], false)
		views++
	}
	r.Render(text, true)
	parsed, atoms := r.Work()
	const open = 3 * 8 << 10 // an open piece, read twice, and what is behind a part
	if most := 2*len(text) + (views+1)*open; parsed > most {
		t.Errorf("%.20q: %d views parsed %d bytes, more than %d", text, views, parsed, most)
	}
	if most := 4*len(text) + (views+1)*open; atoms > most {
		t.Errorf("%.20q: %d views laid out %d atoms, more than %d", text, views, atoms, most)
	}
}

// SE-11: nothing makes reading or splitting slow. How long it takes is told by the benchmark.
func TestAdversarial(t *testing.T) {
	for _, text := range adversarial(30_000) {
		text = text[:30_000]
		doc := markdown.Parse(text)
		for _, d := range dialects()[:2] {
			l := markdown.Limits{Length: 2000, Raw: 32 << 10, Entities: 90}
			for _, p := range markdown.Render(doc, d.d, l) {
				d.judge(t, p, l)
			}
		}
		if n := len(markdown.Interim(text[:len(text)/2]).Pieces); n > len(text) {
			t.Errorf("%d pieces", n)
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	for _, kind := range []string{"blocks", "code", "table", "paragraph"} {
		for _, size := range []int{25_000, 200_000} {
			text := long(kind, size)
			b.Run(kind+"/"+map[int]string{25_000: "25KB", 200_000: "200KB"}[size], func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					r := markdown.NewRenderer(markdown.Light(), markdown.Limits{Length: 1900})
					for i := 400; i < len(text); i += 400 {
						r.Render(text[:i], false)
					}
					r.Render(text, true)
				}
			})
		}
	}
}

func BenchmarkAdversarial(b *testing.B) {
	for _, text := range adversarial(50_000) {
		text = text[:min(len(text), 100_000)]
		b.Run(strings.ReplaceAll(text[:min(12, len(text))], "\n", "~"), func(b *testing.B) {
			for b.Loop() {
				markdown.Render(markdown.Parse(text), markdown.Light(), markdown.Limits{Length: 1900})
			}
		})
	}
}

// ST-22: a view takes no memory for what stands above its open piece.
func TestViewsAreSmall(t *testing.T) {
	allocated := func(size int) uint64 {
		s := markdown.NewStream()
		var before, after runtime.MemStats
		var most uint64
		text := long("blocks", size)
		for i := 0; i < size; i += 100 {
			s.Append(text[i : i+100])
			runtime.ReadMemStats(&before)
			s.Ending()
			runtime.ReadMemStats(&after)
			most += after.TotalAlloc - before.TotalAlloc
		}
		return most / uint64(size/100)
	}
	if short, long := allocated(20_000), allocated(200_000); long > 2*short {
		t.Errorf("a view of 200 KB takes %d bytes, one of 20 KB %d", long, short)
	}
}
