//go:build unix

package bench

import (
	"parley/internal/require"
	"slices"
	"syscall"
	"testing"
	"time"
)

// cpuTime is what this process has used so far, of all cores together.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// needFiles skips where so many connections can't be open at once.
func needFiles(tb testing.TB, n uint64) {
	tb.Helper()
	var limit syscall.Rlimit
	require.NoError(tb, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if uint64(limit.Cur) < n {
		tb.Skipf("SKIPPED: %d open files are needed, ulimit -n is %d", n, limit.Cur)
	}
}

// quantile sorts all and returns the value that so much of them does not exceed.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(int(q*float64(len(all))), len(all)-1)]
}

// reportTimes reports the median and the 99th percentile in milliseconds.
func reportTimes(b *testing.B, name string, all []time.Duration) {
	b.ReportMetric(ms(quantile(all, 0.5)), name+"-ms-p50")
	b.ReportMetric(ms(quantile(all, 0.99)), name+"-ms-p99")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
