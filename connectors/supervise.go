package connectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley/internal/contain"
)

const (
	soonest = time.Second      // before the first restart of a connector
	latest  = 5 * time.Minute  // the longest pause between restarts
	steady  = 10 * time.Minute // a connector that ran for so long restarts with the shortest pause
)

// Supervise runs c until ctx is done, and restarts it after failures with an increasing back-off. It returns nil when
// ctx is done, and the error if it is [Fatal]. A panic counts as a failure, so that one connector's defect does not end
// the others. A return without an error before the end of ctx is a failure too.
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

// run calls c.Run, and converts a panic to an error.
func run(ctx context.Context, c Connector, h Handler) (err error) {
	defer contain.Recover(&err, "the connector")
	return c.Run(ctx, h)
}
