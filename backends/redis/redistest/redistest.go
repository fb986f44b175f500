// Package redistest runs real Redis servers for tests, and can kill, pause and restart them in the middle of one.
package redistest

import (
	"bufio"
	"context"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/require"
)

// Server is a redis-server on the loopback interface without persistence: it is empty after a restart.
type Server struct {
	Addr string

	t    testing.TB
	dir  string
	args []string
	// config makes it a sentinel with this file; ready is what it then says once it works.
	config, ready string
	cmd           *exec.Cmd
	done          chan struct{} // closed when the process has been waited for
}

// Start starts a server on a free port until the end of the test, with args as additional options ("--requirepass",
// "x"). The test is skipped if redis-server is not installed.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("SKIPPED: redis-server is not installed, so NOTHING that needs Redis was tested")
	}
	s := &Server{t: t, dir: t.TempDir(), args: args, Addr: freeAddr(t), ready: "Ready to accept connections"}
	s.Restart()
	t.Cleanup(s.Stop)
	return s
}

// URL returns the server's URL for [parley/backends/redis.Open].
func (s *Server) URL() string { return "redis://" + s.Addr }

// Restart starts the server again, empty, at the same address.
func (s *Server) Restart() {
	s.t.Helper()
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	args := []string{s.config, "--sentinel", "--bind", "127.0.0.1", "--port", port, "--dir", s.dir}
	if s.config == "" {
		args = append([]string{"--bind", "127.0.0.1", "--port", port, "--dir", s.dir, "--save", "", "--appendonly", "no"}, s.args...)
	}
	s.cmd = exec.Command("redis-server", args...)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ready := make(chan bool, 1)
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan<- struct{}) {
		defer close(done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), s.ready) {
				ready <- true
			}
		}
		ready <- false
		_ = cmd.Wait() // killed, as a rule
	}(s.cmd, s.done)
	select {
	case ok := <-ready:
		if !ok {
			s.t.Fatalf("redis-server did not start at %s", s.Addr)
		}
	case <-time.After(20 * time.Second):
		s.t.Fatal("redis-server is not ready")
	}
}

// Stop kills the server if it runs, like a crash.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.done
	s.cmd = nil
}

// Flush deletes all data.
func (s *Server) Flush() {
	s.t.Helper()
	s.command("FLUSHALL")
}

// Empty reports whether the server has no data.
func (s *Server) Empty() bool {
	s.t.Helper()
	return !strings.Contains(s.command("INFO keyspace"), "keys=")
}

// Pause suspends the server while its connections stay open. It ends with Resume or Stop.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume continues a paused server.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l := require.Value(new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}
