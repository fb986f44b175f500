//go:build linux

package bench

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"parley/internal/require"
)

const (
	monitorChats  = 200
	monitorRounds = 10
)

// BenchmarkMonitoring compares the CPU time of an answer without metrics and traces with that of the same program with them: metrics,
// and traces of a tenth of the messages, and of all. All of them are alive at once, and answer by turns. One runs
// twice without: differences of the others that are not larger than between these two mean nothing. A scrape at the end of each round is measured
// apart: its cost depends on the seconds between two scrapes, not on the number of answers.
func BenchmarkMonitoring(b *testing.B) {
	program := build(b)
	needFiles(b, 20*monitorChats)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer collector.Close()
	traces := func(share string) string {
		return fmt.Sprintf("traces: {endpoint: %q, sample: %s}\n", collector.URL, share)
	}
	var all []*monitored
	for _, c := range []struct {
		name, traces string
		metrics      bool
	}{{"off", "", false}, {"off again", "", false}, {"metrics", "", true}, {"metrics, traces of 10 %", traces("0.1"), true}, {"metrics, traces of 100 %", traces("1"), true}} {
		m := &monitored{}
		more := c.traces
		if c.metrics {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(b, err)
			m.address = l.Addr().String()
			require.NoError(b, l.Close())
			more += fmt.Sprintf("metrics: {listen: %q}\n", m.address)
		}
		m.rival = rival{name: c.name, program: program, arguments: func(b *testing.B, dir string, s *stage) []string {
			args := gatewayArguments(b, dir, s)
			f, err := os.OpenFile(filepath.Join(dir, "config.yaml"), os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(b, err)
			_, err = f.WriteString(more)
			require.NoError(b, err)
			require.NoError(b, f.Close())
			return args
		}}
		var stop func()
		m.stage, m.pid, stop = m.start(b)
		defer stop()
		if m.pid == 0 {
			return
		}
		m.round(b, 0) // rooms and people are new only once
		all = append(all, m)
	}
	for b.Loop() {
		for n := range monitorRounds {
			for i := range all {
				all[(i+n)%len(all)].round(b, n+1)
			}
		}
	}
	b.ReportMetric(0, "ns/op") // of no meaning
	for _, m := range all {
		var more []float64 // than without, in the same round
		for i, cpu := range m.cpu {
			more = append(more, 100*(cpu/all[0].cpu[i]-1))
		}
		b.Logf("%s: median %.3f ms of CPU for an answer, median of the differences in a round %+.1f %%; rounds %.3f", m.name, median(m.cpu), median(more), m.cpu)
		if m.address != "" {
			b.Logf("%s: median %.1f ms of CPU for a scrape", m.name, median(m.scrapes))
		}
	}
}

// monitored is a gateway with its metrics at an address, if they are on.
type monitored struct {
	rival
	stage   *stage
	pid     int
	address string
	scrapes []float64 // CPU time of each, in milliseconds
}

// round lets all chats ask once. Round 0 does not count.
func (m *monitored) round(b *testing.B, n int) {
	before := processTime(b, m.pid)
	require.NoError(b, m.stage.each(monitorChats, func(i int) error {
		_, err := m.stage.ask(i, fmt.Sprintf("instant question %d of number %d", n, i))
		return err
	}))
	if n > 0 {
		m.cpu = append(m.cpu, ms(processTime(b, m.pid)-before)/monitorChats)
	}
	if m.address == "" {
		return
	}
	before = processTime(b, m.pid)
	resp, err := http.Get("http://" + m.address + "/metrics")
	require.NoError(b, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	require.NoError(b, resp.Body.Close())
	if n > 0 {
		m.scrapes = append(m.scrapes, ms(processTime(b, m.pid)-before))
	}
}
