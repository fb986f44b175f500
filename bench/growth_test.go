package bench

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/internal/require"
	"parley/sim"
)

// cost is what an answer took from the first delta to the end of the reader's stream.
type cost struct {
	wire   int64  // bytes
	allocs uint64 // of everything: writer, web, HTTP on both sides, reader
	memory uint64 // bytes allocated
	frames int    // with text
}

// ST-22: an answer of ten times the length costs ten times as much. It is held against allocations and bytes, which do
// not depend on the machine, and on a clock on which the slowest stream takes no time.
func TestCostGrowsLinearly(t *testing.T) {
	const short, long = 5_000, 50_000
	shapes := []struct {
		name  string
		every time.Duration // between two deltas; the web waits 40 ms between two frames
	}{
		{"joined", 4 * time.Millisecond},
		{"each alone", 45 * time.Millisecond},
	}
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			a, b := spend(t, short, shape.every), spend(t, long, shape.every)
			flushes := min(shape.every, 40*time.Millisecond) * long / (40 * time.Millisecond)
			if b.frames < int(flushes)*9/10 {
				t.Errorf("%d frames in place of some %d: this is not the shape it is called", b.frames, flushes)
			}
			grows(t, "bytes on the wire", short, long, float64(a.wire), float64(b.wire))
			grows(t, "allocations", short, long, float64(a.allocs), float64(b.allocs))
			grows(t, "bytes allocated", short, long, float64(a.memory), float64(b.memory))
		})
	}
}

func grows(t *testing.T, what string, short, long int, a, b float64) {
	t.Helper()
	a, b = a/float64(short), b/float64(long)
	t.Logf("%s for each delta: %.2f of %d, %.2f of %d", what, a, short, b, long)
	if b > 1.2*a {
		t.Errorf("%s grow faster than the answer: %.2f for each of %d deltas, %.2f for each of %d", what, a, short, b, long)
	}
}

// spend streams an answer of so many deltas to one reader.
func spend(t *testing.T, deltas int, every time.Duration) (c cost) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := sim.NewNet()
		l, err := n.Listen("tcp", "127.0.0.1:8080")
		require.NoError(t, err)
		a := &answer.Answer{}
		stop := serve(t, l, answers{"c": a})
		w := wire{dial: n.Dial}
		reader := w.client()

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		go func() {
			for i := range deltas {
				time.Sleep(every)
				a.Apply(delta(i))
			}
			a.End(answer.Outcome{Status: answer.Completed})
		}()
		r, err := visitor{reader, fmt.Sprint("http://", l.Addr())}.ask("c", "?")
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		c = cost{w.bytes.Load(), after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc, r.tokens}
		stop()
		reader.CloseIdleConnections()
	})
	return c
}
