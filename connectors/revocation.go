package connectors

import (
	"context"
	"errors"
)

// Revocation notifies all users of a bot's token when the platform has rejected it. Any request can detect that,
// of a sink just as well as of Run. It can't be undone: a new token needs a restart. It is safe for concurrent use.
type Revocation struct {
	reason error
	ctx    context.Context // done when the token is revoked
	revoke context.CancelCauseFunc
}

// NewRevocation returns the Revocation of a token that is not known to be revoked. reason says what to do once it is.
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
