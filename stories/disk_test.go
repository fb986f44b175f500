package stories_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"parley"
	"parley/backends"
	"parley/internal/require"
)

// readyz is what the probe is told.
func (s *harness) readyz() (int, string) {
	s.Helper()
	resp := require.Value(s.browser.HTTP.Get("http://" + webAt + "/readyz"))(s)
	defer resp.Body.Close()
	body := require.Value(io.ReadAll(resp.Body))(s)
	return resp.StatusCode, string(body)
}

// DI-16: a gateway that starts while the disk is full waits and says so, and begins when there is space: without a restart. The
// log tells it once.
func TestStartOnAFullDisk(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		id := s.newConversation()
		s.readAll(s.send(id, "k1", "hello"))
		s.shutdown()
		var full atomic.Bool
		full.Store(true)
		s.openStore = func(ctx context.Context, address string, o backends.Options) (backends.Store, error) {
			if full.Load() {
				return nil, fmt.Errorf("sqlite: opening %s: %w", address, syscall.ENOSPC)
			}
			return backends.Open(ctx, address, o)
		}
		started := make(chan struct{})
		go func() { s.start(); close(started) }()
		for range 5 {
			time.Sleep(time.Minute)
			synctest.Wait()
			if code, text := s.readyz(); code != http.StatusServiceUnavailable || !strings.Contains(text, "the disk is full") {
				t.Errorf(`/readyz says %d %q; want %d and it to contain "the disk is full"`, code, text, http.StatusServiceUnavailable)
			}
		}
		if n := strings.Count(s.Logged.String(), "the store can't be opened; waiting"); n != 1 {
			t.Errorf("in five minutes the log told it %d times; want 1", n)
		}
		full.Store(false)
		<-started
		if code, text := s.readyz(); code != http.StatusOK {
			t.Errorf("with space /readyz says %d %q; want %d", code, text, http.StatusOK)
		}
		s.readAll(s.send(id, "k2", "hello again"))
	})
}

// DI-16: what waits for the disk ends when it is told to, and other errors are told at once.
func TestStartGivesUp(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		for err, want := range map[error]string{syscall.ENOSPC: "canceled", syscall.EACCES: "permission denied"} {
			ctx, cancel := context.WithTimeoutCause(s.Context(), time.Minute, context.Canceled)
			cfg := s.cfg
			cfg.Web.Listen = "127.0.0.1:8099"
			_, got := parley.Start(ctx, cfg, parley.Env{Listen: s.net.Listen, OpenStore: func(context.Context, string, backends.Options) (backends.Store, error) {
				return nil, err
			}})
			if got == nil || !strings.Contains(got.Error(), want) {
				t.Errorf("%v: %v", err, got)
			}
			cancel()
		}
	})
}
