package clients_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"parley/config"
	"parley/internal/require"
)

// The environment of a process of this test binary that is a gateway.
const (
	childStore   = "CLIENTS_STORE"
	childListen  = "CLIENTS_LISTEN"
	childControl = "CLIENTS_CONTROL"
)

const siteSecret = "a-secret-of-the-site-of-32-bytes!" // that of the tokens of visitors

// runChild is a gateway in a process of its own, until it is killed.
func runChild() {
	s := &stage{away: os.Getenv(childControl)}
	g, err := s.gateway(os.Getenv(childStore), os.Getenv(childListen), slog.New(slog.NewTextHandler(os.Stderr, nil)), func(c *config.Config) { c.Web.Accounts.Secret, c.Web.Accounts.Audience = siteSecret, "parley" })
	if err == nil {
		err = g.Run(context.Background())
	}
	if err != nil {
		slog.Error("the gateway has ended", "err", err)
		os.Exit(1)
	}
}

// newProcess starts a gateway in a process of its own, which kill kills and starts again.
func newProcess(t *testing.T) *stage {
	t.Helper()
	s := newControl(t)
	l := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	listen, store := l.Addr().String(), filepath.Join(t.TempDir(), "parley.db")
	require.NoError(t, l.Close())
	s.base = "http://" + listen
	var child *exec.Cmd
	end := func() {
		_ = child.Process.Kill()
		_ = child.Wait() // it was killed
	}
	start := func() {
		child = exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childStore+"="+store, childListen+"="+listen, childControl+"="+s.control.URL)
		child.Stderr = t.Output()
		if err := child.Start(); err != nil {
			t.Error(err)
			return
		}
		for try := 0; ; try++ {
			resp, err := http.Get(s.base + "/readyz")
			if err == nil {
				_ = resp.Body.Close()
			}
			if err == nil && resp.StatusCode == http.StatusOK {
				return
			}
			if time.Sleep(20 * time.Millisecond); try == 1500 {
				t.Errorf("the gateway is not ready: %v", err)
				return
			}
		}
	}
	start()
	t.Cleanup(func() { end() })
	s.mu.Lock()
	s.kill = func() { end(); start() }
	s.mu.Unlock()
	return s
}

// A client of the AI SDK that the kill of the gateway has cut off resumes the answer: in the same message, with a status that is replaced.
func TestAISDKSurvivesSIGKILL(t *testing.T) {
	for _, version := range []string{"ai5", "ai7"} {
		t.Run(version, func(t *testing.T) { newProcess(t).node("kill.mjs", version) })
	}
}
