package answer_test

import (
	"errors"
	"io"
	"strconv"
	"sync"
	"testing"

	"parley/core/answer"
)

// The cost of a piece of text must not grow with the answer, with or without a user who reads along.
func BenchmarkDelta(b *testing.B) {
	for _, n := range []int{5_000, 50_000, 500_000} {
		for name, every := range map[string]int{"written": n + 1, "read": 1} {
			b.Run(name+"/"+strconv.Itoa(n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					var a answer.Answer
					var at answer.Cursor
					for i := range n {
						a.Apply(answer.Change{Kind: answer.Text, Text: "four"})
						if i%every == 0 {
							_, at = a.Since(at)
							_ = a.View()
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/delta")
			})
		}
	}
}

// Callbacks of one call replace one another: what is kept of them does not grow.
func BenchmarkCallback(b *testing.B) {
	for _, n := range []int{5_000, 50_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var a answer.Answer
				for range n {
					a.Apply(answer.Change{Kind: answer.Callback, Call: "c", Text: "same"})
				}
				if cs, _ := a.Since(0); len(cs) != 2 {
					b.Fatal(len(cs), "are kept")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/callback")
		})
	}
}

// One writes, some read in different ways, at once: for the race detector.
func TestReadersInParallel(t *testing.T) {
	var a answer.Answer
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			var at answer.Cursor
			var got int
			for {
				if err := a.Wait(t.Context(), at); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Error(err)
					return
				}
				cs, next := a.Since(at)
				if i%2 == 0 {
					var v answer.View
					cs, v = a.Read(at)
					next = v.At
				}
				for _, c := range cs {
					if c.Kind == answer.Text {
						got += len(c.Text)
					}
				}
				at = next
			}
			if got != 4000 {
				t.Errorf("a reader got %d bytes; want 4000", got)
			}
		})
	}
	for range 1000 {
		a.Apply(textChange(0, "four"))
		a.Apply(said("c", "x"))
		a.Apply(said("d", "y"))
	}
	a.End(done)
	<-a.Ended()
	wg.Wait()
}
