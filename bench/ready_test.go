//go:build unix

package bench

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"parley/internal/require"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkReady starts the program itself and looks at its memory when it has had nothing to do for two
// seconds.
func BenchmarkReady(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("SKIPPED: memory is read from /proc")
	}
	program := build(b)
	for _, stored := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", stored), func(b *testing.B) {
			var database []byte
			if stored > 0 {
				var err error
				if database, err = os.ReadFile(filled(b, map[string]int{"c": stored})); err != nil {
					b.Fatal(err)
				}
			}
			var all []start
			for b.Loop() {
				all = append(all, starts(b, program, database)...)
			}
			b.ReportMetric(0, "ns/op")
			reportStarts(b, all)
		})
	}
}

// start is one life of the program.
type start struct {
	printed, ready time.Duration // since the process was started
	memory         map[string]float64
	base           string // http://host:port
}

// starts starts some, one after the other. They live beside each other while they idle.
func starts(b *testing.B, program string, database []byte) (all []start) {
	const count = 3
	all = make([]start, count)
	var idling sync.WaitGroup
	for i := range all {
		dir := b.TempDir()
		if database != nil {
			require.NoError(b, os.WriteFile(filepath.Join(dir, "parley.db"), database, 0o600))
		}
		process := launch(b, program, dir, &all[i])
		idling.Go(func() {
			time.Sleep(2 * time.Second)
			all[i].memory = memory(b, process.Process.Pid)
			if err := process.Process.Signal(syscall.SIGTERM); err != nil {
				b.Error(err)
			}
			if err := process.Wait(); err != nil {
				b.Error(err)
			}
		})
	}
	idling.Wait()
	return all
}

// build makes the program, unless the environment names one.
func build(b *testing.B) (path string) {
	b.Helper()
	if path = os.Getenv("PARLEY_GATEWAY"); path != "" {
		return path
	}
	path = filepath.Join(b.TempDir(), "gateway")
	if out, err := exec.Command("go", "build", "-o", path, "parley/cmd/gateway").CombinedOutput(); err != nil {
		b.Fatalf("build the program: %v\n%s", err, out)
	}
	return path
}

// launch starts the program in dir and returns when it is ready.
func launch(b *testing.B, program, dir string, s *start) *exec.Cmd {
	b.Helper()
	c := exec.Command(program, "--listen", "127.0.0.1:0")
	c.Dir, c.Env = dir, []string{"HOME=" + dir}
	out, err := c.StdoutPipe()
	require.NoError(b, err)
	began := time.Now()
	require.NoError(b, c.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	s.printed = time.Since(began)
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "Parley is at ")
	if err != nil || !ok {
		b.Fatalf("the program said %q: %v", line, err)
	}
	s.base = base
	resp, err := http.Get(base + "/readyz")
	require.NoError(b, err)
	s.ready = time.Since(began)
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b.Fatalf("/readyz answers %s", resp.Status)
	}
	return c
}

// memory is what a process has, in MB, by the names of /proc.
func memory(b *testing.B, pid int) map[string]float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Error(err)
	}
	m := map[string]float64{}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if fields := strings.Fields(value); len(fields) == 2 && fields[1] == "kB" {
			kb, _ := strconv.ParseFloat(fields[0], 64)
			m[name] = kb / 1000
		}
	}
	return m
}

func reportStarts(b *testing.B, all []start) {
	var printed, ready []time.Duration
	most, sum := map[string]float64{}, map[string]float64{}
	for _, s := range all {
		printed, ready = append(printed, s.printed), append(ready, s.ready)
		for name, mb := range s.memory {
			most[name] = max(most[name], mb)
			sum[name] += mb
		}
	}
	b.ReportMetric(ms(quantile(printed, 0.5)), "printed-ms-p50")
	b.ReportMetric(ms(quantile(ready, 0.5)), "ready-ms-p50")
	b.ReportMetric(ms(quantile(ready, 1)), "ready-ms-max")
	for _, name := range []string{"VmRSS", "RssAnon"} {
		b.ReportMetric(sum[name]/float64(len(all)), name+"-MB-mean")
		b.ReportMetric(most[name], name+"-MB-max")
	}
}
