package daemon

import (
	"context"
	"fmt"
	"net"
	"os"
	"parley/internal/rest"
	"strconv"
	"time"
)

// Notifier tells systemd about the state of this process, as sd_notify does. The zero value is that of a process that systemd
// did not start: it does nothing.
type Notifier struct {
	socket string
	every  time.Duration // how often systemd expects to hear that the process works; 0 for never
}

// NewNotifier returns the notifier of this process. It removes the variables of the environment, so that programs which the
// process starts don't speak for it.
func NewNotifier() Notifier {
	n := Notifier{socket: os.Getenv("NOTIFY_SOCKET")}
	usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if pid := os.Getenv("WATCHDOG_PID"); err == nil && usec > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.every = time.Duration(usec) * time.Microsecond
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name) // fails only for names that are no names
	}
	return n
}

// Ready tells that the process works, with a status for people.
func (n Notifier) Ready(status string) error { return n.send("READY=1\nSTATUS=" + status) }

// Reloading tells that the process reads its configuration again, until the next Ready.
func (n Notifier) Reloading() error { return n.send("RELOADING=1") }

// Stopping tells that the process stops.
func (n Notifier) Stopping() error { return n.send("STOPPING=1") }

// send sends assignments, one a line.
func (n Notifier) send(state string) error {
	if n.socket == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"}) // Go knows the form of abstract addresses
	if err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err = conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}

// Watch tells systemd that the process works, twice in each period, as long as alive returns nil in time. Otherwise it stays
// silent, and systemd restarts the process at the end of the period. It returns when ctx ends.
func (n Notifier) Watch(ctx context.Context, alive func(context.Context) error, failed func(error)) {
	if n.socket == "" || n.every == 0 {
		return
	}
	for range rest.Every(ctx, n.every/2) {
		err := within(ctx, n.every/4, alive)
		if err == nil {
			err = n.send("WATCHDOG=1")
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}

// within calls f with a time limit.
func within(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}
