package daemon_test

import (
	"context"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/internal/daemon"
	"parley/internal/require"
)

// systemd listens as systemd does for a service, and sets its variables. A watchdog of 0 is none.
func systemd(t *testing.T, watchdog time.Duration) *net.UnixConn {
	t.Helper()
	name := filepath.Join(t.TempDir(), "s")
	conn := require.Value(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"}))(t)
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", name)
	if watchdog > 0 {
		t.Setenv("WATCHDOG_USEC", strconv.FormatInt(watchdog.Microseconds(), 10))
	}
	return conn
}

// next returns the next message to systemd, or "" if there is none now.
func next(t *testing.T, conn *net.UnixConn, wait time.Duration) string {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(wait))
	data := make([]byte, 4096)
	n, err := conn.Read(data)
	if err != nil {
		return ""
	}
	return string(data[:n])
}

const long = 30 * time.Second

func TestNotifierTellsSystemd(t *testing.T) {
	conn := systemd(t, 0)
	n := daemon.NewNotifier()
	require.NoError(t, n.Ready("at http://127.0.0.1:8080"))
	if got := next(t, conn, long); got != "READY=1\nSTATUS=at http://127.0.0.1:8080" {
		t.Errorf(`ready: %q; want "READY=1\nSTATUS=at http://127.0.0.1:8080"`, got)
	}
	require.NoError(t, n.Reloading())
	if got := next(t, conn, long); got != "RELOADING=1" {
		t.Errorf(`reloading: %q; want "RELOADING=1"`, got)
	}
	require.NoError(t, n.Stopping())
	if got := next(t, conn, long); got != "STOPPING=1" {
		t.Errorf(`stopping: %q; want "STOPPING=1"`, got)
	}
	n.Watch(t.Context(), func(context.Context) error { t.Error("it asks without a watchdog"); return nil }, func(error) {})
	silent := daemon.NewNotifier() // the variables are gone, as for the processes that this one starts
	if err := silent.Ready(""); err != nil || next(t, conn, time.Millisecond) != "" {
		t.Errorf("a process that systemd did not start speaks: %v", err)
	}
}

// The pings end as soon as the process hangs, and come back with it.
func TestWatchdogStopsWhenTheProcessHangs(t *testing.T) {
	conn := systemd(t, 40*time.Millisecond)
	n := daemon.NewNotifier()
	ctx, cancel := context.WithCancel(t.Context())
	hung, failures := make(chan bool, 1), make(chan error)
	hung <- false
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Watch(ctx, func(ctx context.Context) error {
			h := <-hung
			hung <- h
			if h {
				<-ctx.Done() // as a request does that is not answered
				return ctx.Err()
			}
			return nil
		}, func(err error) {
			select {
			case failures <- err:
			case <-ctx.Done():
			}
		})
	}()
	if got := next(t, conn, long); got != "WATCHDOG=1" {
		t.Errorf(`the first ping is %q; want "WATCHDOG=1"`, got)
	}
	<-hung
	hung <- true
	if err := <-failures; err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("the failure is %v", err)
	}
	for next(t, conn, time.Millisecond) != "" { // those from before
	}
	for range 3 {
		<-failures
	}
	if got := next(t, conn, time.Millisecond); got != "" {
		t.Errorf("while it hangs, it sends %q; want none", got)
	}
	<-hung
	hung <- false
	for {
		select {
		case <-failures:
			continue
		default:
		}
		if next(t, conn, time.Millisecond) == "WATCHDOG=1" {
			break
		}
	}
	cancel()
	<-ended
}
