package connectortest

import (
	"runtime"
	"strings"
	"time"

	"parley/core/answer"
	"parley/progressive"
)

// outlay is the cost of an answer: requests, and the allocations of the whole process, including the platform's server.
type outlay struct{ requests, allocations, bytes float64 }

// ST-22: in an answer of ten times the length, without calls, no delta costs more.
func costGrowsLinearly(r *suiteRun) {
	const short, long = 5_000, 50_000
	gate := r.gate()
	a, b := r.spend(gate, short), r.spend(gate, long)
	for _, of := range []struct {
		what string
		a, b float64
	}{{"requests", a.requests, b.requests}, {"allocations", a.allocations, b.allocations}, {"bytes", a.bytes, b.bytes}} {
		a, b := of.a/short, of.b/long
		r.Logf("%s for each delta: %.4f of %d, %.4f of %d", of.what, a, short, b, long)
		if b > 1.3*a { // each view lists the messages, of which there are a hundred
			r.Errorf("%s grow faster than the answer", of.what)
		}
	}
}

func (r *suiteRun) spend(gate progressive.Gate, deltas int) outlay {
	r.Helper()
	s := r.show(r.Direct(Ada), gate)
	s.answer.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "Now playing"})
	text := strings.Repeat("The quick fox jumps over the lazy dog until the evening comes.\n\n", deltas/15)
	before := len(BotTexts(r, s.place))
	made := len(r.Requests())
	var m, now runtime.MemStats
	runtime.ReadMemStats(&m)
	for i := range deltas {
		s.answer.Apply(answer.Change{Kind: answer.Text, Step: 1, Text: text[4*i : 4*i+4]})
		time.Sleep(10 * time.Millisecond)
	}
	s.answer.End(answer.Outcome{Status: answer.Completed})
	r.must(<-s.ended)
	runtime.ReadMemStats(&now)
	made = len(r.Requests()) - made
	s.nothingFollows()
	shown := strings.Join(BotTexts(r, s.place)[before:], "")
	if n := len(strings.Fields(text[:4*deltas])) + 2; len(strings.Fields(shown)) < n*9/10 {
		r.Errorf("%d words are shown of %d", len(strings.Fields(shown)), n)
	}
	return outlay{float64(made), float64(now.Mallocs - m.Mallocs), float64(now.TotalAlloc - m.TotalAlloc)}
}
