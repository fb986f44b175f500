//go:build unix

package bench

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"parley/internal/require"
	"parley/models/modelfake"
)

// BenchmarkAdmission is the time from a question to the first byte of the reply, which says that the question is
// stored, beside what is stored already. Compare BenchmarkDisk: most of it is that.
func BenchmarkAdmission(b *testing.B) {
	for _, stored := range []struct {
		name          string
		conversations map[string]int
	}{
		{"rows=10", map[string]int{"c": 10}},
		{"rows=100000/where=elsewhere", map[string]int{"c": 10, "other": 100_000}},
		{"rows=100000/where=here", map[string]int{"c": 100_000}},
	} {
		b.Run(stored.name, func(b *testing.B) {
			web := gateway(b, filled(b, stored.conversations), func(modelfake.Request) modelfake.Script { return modelfake.Script{modelfake.Text("Yes.")} })
			var admitted, answered []time.Duration
			for b.Loop() {
				r, err := web.ask("c", "Is it?")
				require.NoError(b, err)
				admitted = append(admitted, r.began.Sub(r.sent))
				answered = append(answered, r.done.Sub(r.sent))
			}
			b.ReportMetric(0, "ns/op") // the two below say what it is made of
			reportTimes(b, "admit", admitted)
			reportTimes(b, "answer", answered)
		})
	}
}

// BenchmarkThroughput is how many answers a second the gateway can begin and end when 64 people ask without a pause and
// the model answers at once.
func BenchmarkThroughput(b *testing.B) {
	web := gateway(b, "", func(modelfake.Request) modelfake.Script { return modelfake.Script{modelfake.Text("Yes.")} })
	b.SetParallelism((64 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.RunParallel(func(next *testing.PB) {
		id, err := web.open()
		for err == nil && next.Next() {
			_, err = web.ask(id, "Is it?")
		}
		if err != nil {
			b.Error(err)
		}
	})
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
}

// BenchmarkDisk is a write of 4 KB that is on the disk when it returns.
func BenchmarkDisk(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "disk"))
	require.NoError(b, err)
	defer f.Close() //nolint:errcheck // of no interest
	page := make([]byte, 4096)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		require.NoError(b, f.Sync())
		took = append(took, time.Since(began))
	}
	b.ReportMetric(0, "ns/op")
	reportTimes(b, "sync", took)
}
