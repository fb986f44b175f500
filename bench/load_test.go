//go:build linux

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/require"
	"parley/models/modelfake"
)

const (
	loadChats  = 1000
	loadRounds = 4   // questions in each chat whose cost counts
	burstChats = 100 // that ask a slow model at once
	loadEdits  = 100 * time.Millisecond
)

// BenchmarkLoad runs the gateway and bench/floor, the smallest durable bot, by turns: each as a process of its own, on a
// new database, against the same fakes of Telegram and of a model server, which are in this process.
func BenchmarkLoad(b *testing.B) {
	needFiles(b, 5*loadChats)
	bots := []rival{
		{name: "floor", program: buildAt(b, "FLOOR", "parley/bench/floor"), arguments: floorArguments},
		{name: "gateway", program: build(b), arguments: gatewayArguments},
	}
	for b.Loop() {
		for i := range bots {
			bots[i].measure(b)
		}
	}
	b.ReportMetric(0, "ns/op") // of no meaning
	for _, bot := range bots {
		bot.report(b)
	}
}

// rival is one of the programs, and what was measured of it.
type rival struct {
	name, program string
	arguments     func(b *testing.B, dir string, s *stage) []string

	ready, first, done              []time.Duration
	answers, cpu, calls, idle, full []float64
}

func floorArguments(_ *testing.B, dir string, s *stage) []string {
	return []string{
		"-api", s.url, "-token", s.fake.Token(), "-db", filepath.Join(dir, "floor.db"),
		"-model-url", s.model, "-model", modelfake.DefaultModel, "-edits", loadEdits.String(),
	}
}

// gatewayArguments writes a configuration in which nothing waits for a limit, but limits are counted.
func gatewayArguments(b *testing.B, dir string, s *stage) []string {
	path := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf(`
providers: {openai: {base_url: %q, api_key: none}}
models: {large: {model: %s}}
connectors:
  telegram:
    token: %q
    api_url: %q
    limits: {private_edits: %v, per_second: 100000}
web: {listen: "127.0.0.1:0"}
access: {direct: open}
limits:
  person: {messages: 1000000, tokens: 1000000000}
  room: {messages: 1000000, tokens: 1000000000}
  total: {messages: 100000000, tokens: 100000000000}
plugins: {player: {urls: ["https://example.org/clair-de-lune.mp3"]}}
store: sqlite:%s
turns: {buttons: false} # an answer that is shown at once would be shown a second time, with the button to retry it
`, s.model, modelfake.DefaultModel, s.fake.Token(), s.url, loadEdits, filepath.Join(dir, "parley.db"))
	require.NoError(b, os.WriteFile(path, []byte(text), 0o600))
	return []string{"--config", path}
}

// measure runs the program once.
func (r *rival) measure(b *testing.B) {
	s, pid, stop := r.start(b)
	defer stop()
	if pid == 0 {
		return
	}
	time.Sleep(2 * time.Second)
	r.idle = append(r.idle, memory(b, pid)["VmRSS"])
	r.load(b, s, pid)
	r.burst(b, s)
	if bad := s.fake.Rejected(); len(bad) > 0 {
		b.Errorf("%s: %d requests were refused: %s; want none", r.name, len(bad), bad[0].Reason)
	}
}

// start starts the program on a new database and returns its process id once it polls, or 0 if it does not. stop ends it.
func (r *rival) start(b *testing.B) (s *stage, pid int, stop func()) {
	dir, s := b.TempDir(), newStage(b, loadChats)
	c := exec.Command(r.program, r.arguments(b, dir, s)...)
	c.Dir, c.Env = dir, []string{"HOME=" + dir}
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(b, err)
	c.Stdout, c.Stderr = log, log
	began := time.Now()
	require.NoError(b, c.Start())
	stop = func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil || b.Failed() {
			text, _ := os.ReadFile(log.Name())
			b.Errorf("%s ended: %v\n%s", r.name, err, text[:min(len(text), 4000)])
		}
		_ = log.Close()
	}
	select {
	case at := <-s.polled:
		r.ready = append(r.ready, at.Sub(began))
	case <-time.After(20 * time.Second):
		b.Error("the bot has not polled within 20 seconds; want a poll")
		return s, 0, stop
	}
	return s, c.Process.Pid, stop
}

// load lets all chats ask an instant model, one question after the other.
func (r *rival) load(b *testing.B, s *stage, pid int) {
	ask := func(rounds int) bool {
		if err := s.each(loadChats, func(i int) error {
			for n := range rounds {
				if _, err := s.ask(i, fmt.Sprintf("instant question %d of number %d", n, i)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Error(err)
			return false
		}
		return true
	}
	if !ask(1) { // rooms and people are new only once
		return
	}
	used, began, calls := processTime(b, pid), time.Now(), s.calls.Load()
	if !ask(loadRounds) {
		return
	}
	const answers = loadChats * loadRounds
	r.answers = append(r.answers, answers/time.Since(began).Seconds())
	r.cpu = append(r.cpu, ms(processTime(b, pid)-used)/answers)
	r.calls = append(r.calls, float64(s.calls.Load()-calls)/answers)
	r.full = append(r.full, memory(b, pid)["VmRSS"])
}

// burst lets some chats ask a slow model at once.
func (r *rival) burst(b *testing.B, s *stage) {
	l := newLoad(b, burstChats, 60)
	l.opening = "Well, this is what I have been told: " // enough for the first message
	s.slow.Store(l)
	readings := make([]reading, burstChats)
	if err := s.each(burstChats, func(i int) (err error) {
		readings[i], err = s.ask(i, question(i))
		return err
	}); err != nil {
		b.Error(err)
		return
	}
	for i, read := range readings {
		l.note(read, &l.stamps[i])
	}
	r.first, r.done = append(r.first, l.asked...), append(r.done, l.last...)
}

func (r *rival) report(b *testing.B) {
	report := func(value float64, name string) { b.ReportMetric(value, r.name+"-"+name) }
	report(median(r.answers), "answers/s")
	report(median(r.cpu), "cpu-ms/answer")
	report(median(r.calls), "calls/answer")
	report(ms(quantile(r.ready, 0.5)), "ready-ms")
	report(median(r.idle), "idle-MB")
	report(median(r.full), "loaded-MB")
	report(ms(quantile(r.first, 0.5)), "first-ms-p50")
	report(ms(quantile(r.first, 0.99)), "first-ms-p99")
	report(ms(quantile(r.done, 0.5)), "done-ms-p50")
	report(ms(quantile(r.done, 0.99)), "done-ms-p99")
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// buildAt makes a program, unless the environment names one.
func buildAt(b *testing.B, name, pkg string) (path string) {
	b.Helper()
	if path = os.Getenv("PARLEY_" + name); path != "" {
		return path
	}
	path = filepath.Join(b.TempDir(), strings.ToLower(name))
	if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
		b.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return path
}

// processTime is what another process has used so far, of all cores together.
func processTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil { // clock_getcpuclockid(3)
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
