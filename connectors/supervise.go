package connectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

const (
	soonest = time.Second      // before the first new start of a connector
	latest  = 5 * time.Minute  // between new starts, at most
	steady  = 10 * time.Minute // a connector that ran for so long starts afresh
)

// Supervise runs c until ctx is done, and starts it again when it fails, after growing pauses. It returns nil when ctx
// is done, and the error when that is [Fatal]. A panic is a failure like any other.
func Supervise(ctx context.Context, c Connector, h Handler, log *slog.Logger) error {
	wait := soonest
	for {
		begun := time.Now()
		err := run(ctx, c, h)
		var fatal Fatal
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &fatal):
			return fmt.Errorf("%s: %w", c.Name(), err)
		case time.Since(begun) > steady:
			wait = soonest
		}
		log.Error("a connector failed and will restart", "connector", c.Name(), "in", wait, "err", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		wait = min(2*wait, latest)
	}
}

func run(ctx context.Context, c Connector, h Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return c.Run(ctx, h)
}
