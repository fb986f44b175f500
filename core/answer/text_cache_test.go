package answer_test

import (
	"fmt"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"parley/core/answer"
)

// However an answer changes, what is joined step by step is the text of the view.
func TestWhole(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "b", "ab", "\n\n", "longer text"})
	rapid.Check(t, func(t *rapid.T) {
		var w answer.TextCache
		var v answer.View
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch i := rapid.IntRange(0, len(v.Segments)).Draw(t, "segment"); {
			case i == len(v.Segments):
				v.Segments = append(v.Segments, answer.Segment{Call: fmt.Sprint(i), Text: text.Draw(t, "text")})
			case rapid.Bool().Draw(t, "grows"):
				v.Segments[i].Text += text.Draw(t, "text")
			default:
				v.Segments[i].Text = text.Draw(t, "text")
			}
			if got := w.Text(v); got != v.Text() {
				t.Fatalf("%q, want %q", got, v.Text())
			}
		}
	})
}

// ST-22: a view of a long answer below what an action says costs what was added.
func TestWholeCostsWhatIsAdded(t *testing.T) {
	allocated := func(deltas int) float64 {
		var a answer.Answer
		var w answer.TextCache
		a.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "Now playing"})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range deltas {
			a.Apply(answer.Change{Kind: answer.Text, Step: 1, Text: "four"})
			w.Text(a.View())
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(deltas)
	}
	if short, long := allocated(5_000), allocated(50_000); long > 2*short {
		t.Errorf("a view costs %.0f bytes of 5,000, %.0f of 50,000", short, long)
	}
}
