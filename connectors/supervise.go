package connectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley/internal/contain"
	"parley/internal/rest"
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
		if rest.For(ctx, wait) != nil {
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

// Revocation notifies all users of a bot's token when the platform has rejected it. Any request can detect that,
// of a sink just as well as of Run. It can't be undone: a new token needs a restart. It is safe for concurrent use.
type Revocation struct {
	reason error
	ctx    context.Context // done when the token is revoked
	revoke context.CancelCauseFunc
}

// NewRevocation returns the Revocation of a token that is not known to be revoked. reason names the remedy for that
// case.
func NewRevocation(reason error) *Revocation {
	ctx, revoke := context.WithCancelCause(context.Background())
	return &Revocation{reason, ctx, revoke}
}

// Revoke records that the platform has rejected the token.
func (r *Revocation) Revoke() { r.revoke(r.reason) }

// Err returns the reason if the token is revoked, and nil otherwise. Without a valid token, no request should be sent:
// platforms ban addresses that keep trying.
func (r *Revocation) Err() error { return context.Cause(r.ctx) }

// Watch calls run with a context that ends when ctx does or when the token is revoked. In the latter case it returns a
// [Fatal] with the reason, and otherwise what run returns.
func (r *Revocation) Watch(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The end of r.ctx cancels run's context; the deferred call removes that connection again.
	defer context.AfterFunc(r.ctx, func() { cancel(r.reason) })()
	if err := run(ctx); !errors.Is(err, r.reason) && !errors.Is(context.Cause(ctx), r.reason) {
		return err
	}
	return Fatal{r.reason}
}
