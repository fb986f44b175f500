//go:build unix

package bench

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
	"parley/models/modelfake"
)

// BenchmarkAnswer writes an answer as fast as it goes and streams it to one reader over HTTP.
func BenchmarkAnswer(b *testing.B) {
	for _, deltas := range []int{5_000, 50_000} {
		b.Run(fmt.Sprintf("deltas=%d", deltas), func(b *testing.B) {
			all := answers{}
			base, w := open(b, all)
			reader := visitor{w.client(), base}
			m := begin(b)
			for b.Loop() {
				a := &answer.Answer{}
				all["c"] = a
				go func() {
					for i := range deltas {
						a.Apply(delta(i))
					}
					a.End(answer.Outcome{Status: answer.Completed})
				}()
				if _, err := reader.ask("c", "?"); err != nil {
					b.Fatal(err)
				}
			}
			m.report(b, b.N*deltas)
			b.ReportMetric(float64(b.Elapsed())/float64(b.N*deltas), "ns/delta")
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(w.bytes.Load())/float64(b.N*deltas), "wire-B/delta")
			reader.http.CloseIdleConnections()
		})
	}
}

// BenchmarkSlowStream is the cost of a delta that is sent alone, early and late in a long answer. As the web waits
// between two frames, many answers are streamed at once, and what counts is the time of the CPU.
func BenchmarkSlowStream(b *testing.B) {
	const streams, deltas, every = 200, 30, 45 * time.Millisecond
	for _, before := range []int{0, 200_000} {
		b.Run(fmt.Sprintf("after=%d", before), func(b *testing.B) {
			all := answers{}
			base, w := open(b, all)
			reader := visitor{w.client(), base}
			var m meter
			for n := 0; b.Loop(); n++ {
				var readers sync.WaitGroup
				for s := range streams {
					name := chat.RunID(fmt.Sprint(n, "-", s))
					all[name] = &answer.Answer{}
					all[name].Apply(answer.Change{Kind: answer.Text, Text: strings.Repeat("x", before+1)})
				}
				for name := range all {
					readers.Go(func() {
						if _, err := reader.ask(string(name), "?"); err != nil {
							b.Error(err)
						}
					})
				}
				time.Sleep(500 * time.Millisecond) // all have what was there before
				m = begin(b)
				tick := time.NewTicker(every)
				for i := range deltas {
					<-tick.C
					for _, a := range all {
						a.Apply(delta(i))
					}
				}
				time.Sleep(every)
				m.report(b, streams*deltas)
				for _, a := range all {
					a.End(answer.Outcome{Status: answer.Completed})
				}
				readers.Wait()
				clear(all)
			}
			b.ReportMetric(0, "ns/op") // of no meaning
			reader.http.CloseIdleConnections()
		})
	}
}

// BenchmarkWholeGateway is an answer's way from a model that writes as fast as it can, through the whole gateway, to
// one reader. The cost of the model server is in it.
func BenchmarkWholeGateway(b *testing.B) {
	for _, deltas := range []int{5_000, 50_000} {
		b.Run(fmt.Sprintf("deltas=%d", deltas), func(b *testing.B) {
			text := strings.Repeat(fox, deltas*deltaSize/len(fox)+1)[:deltas*deltaSize]
			web := gateway(b, "", func(modelfake.Request) modelfake.Script {
				return modelfake.Script{modelfake.Text(text, modelfake.ByBytes(deltaSize))}
			})
			m := begin(b)
			for b.Loop() {
				id, err := web.open()
				require.NoError(b, err)
				if _, err := web.ask(id, "?"); err != nil {
					b.Fatal(err)
				}
			}
			m.report(b, b.N*deltas)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(b.Elapsed())/float64(b.N*deltas), "ns/delta")
		})
	}
}

// open serves answers on a free port.
func open(b *testing.B, all answers) (base string, w *wire) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(serve(b, l, all))
	return "http://" + l.Addr().String(), &wire{dial: (&net.Dialer{}).DialContext}
}

// meter is what the process had used when something began.
type meter struct {
	cpu    time.Duration
	allocs uint64
}

func begin(b *testing.B) meter {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return meter{cpuTime(b), m.Mallocs}
}

// report reports what was used since then, by one of so many deltas.
func (m meter) report(b *testing.B, deltas int) {
	now := begin(b)
	b.ReportMetric(float64(now.cpu-m.cpu)/float64(deltas), "cpu-ns/delta")
	b.ReportMetric(float64(now.allocs-m.allocs)/float64(deltas), "allocs/delta")
}
