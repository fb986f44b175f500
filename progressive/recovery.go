package progressive

import (
	"context"
	"sync"
	"time"
)

// outageAfter is how long no request of a bot succeeds before the next success counts as the end of an outage. Below it, a failure is
// more likely one of a chat or of a request: answers keep their own pauses then, or they would use up their attempts.
const outageAfter = 5 * time.Second

// Recovery ends the pauses of all answers of one bot when its platform works again after an outage, and not each at the end of its own pause,
// of up to a minute. The gate still paces what they send. The zero value is ready. It is safe for concurrent use.
type Recovery struct {
	mu     sync.Mutex
	down   time.Time     // the first failure since the last success; zero if there is none
	worked chan struct{} // closed at the end of the outage; nil if no answer waits
}

// failed notes a request without a response, and returns a channel that is closed when the outage ends.
func (r *Recovery) failed() <-chan struct{} {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down.IsZero() {
		r.down = time.Now()
	}
	if r.worked == nil {
		r.worked = make(chan struct{})
	}
	return r.worked
}

// succeeded notes a request with a response. It ends an outage.
func (r *Recovery) succeeded() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down.IsZero() {
		return
	}
	lasted := time.Since(r.down)
	r.down = time.Time{}
	if lasted >= outageAfter && r.worked != nil {
		close(r.worked)
		r.worked = nil
	}
}

// WithRecovery makes the pauses of the message end when r notices the end of an outage.
func WithRecovery(r *Recovery) Option {
	return func(m *Message) { m.recovery.of = r }
}

// recoverer is one answer's part in a recovery. It is used by one goroutine.
type recoverer struct {
	of    *Recovery       // nil if there is none
	ended <-chan struct{} // is closed when the outage in which the last request failed ends; nil if there is none
}

// lost notes a request without a response.
func (r *recoverer) lost() { r.ended = r.of.failed() }

// worked notes a request with a response.
func (r *recoverer) worked() {
	r.ended = nil
	r.of.succeeded()
}

// untilClosed returns a context that also ends with cause when c is closed; nil never is. stop releases it.
func untilClosed(ctx context.Context, c <-chan struct{}, cause error) (until context.Context, stop func()) {
	if c == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-c:
			cancel(cause)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
