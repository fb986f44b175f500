package progressive

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/core/answer"
)

const (
	typingDelay        = 200 * time.Millisecond // an answer that is ready at once needs no indicator
	typingStall        = time.Minute            // without progress of the answer for this long, the indicator would be wrong
	typingRetry        = time.Second            // until the next attempt, if there was no permit
	typingFailurePause = 5 * time.Second        // until the next attempt, after a failed request
	typingTimeout      = 2 * time.Second        // of a request; short, because text may have to wait for it
)

var errText = errors.New("there is text to show")

// startTyping shows a typing indicator. stop ends it, and can be called again. A request in flight is not canceled: the
// platform counts it anyway, at an unknown time. So stop waits for its response, which takes about as long as one for
// text would.
func (m *Message) startTyping(ctx context.Context, a *answer.Answer) (stop func()) {
	t, ok := m.sink.(Typer)
	if !ok || m.resumed || a.View().Outcome.Done() {
		return func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	i := indicator{typer: t, message: m}
	seen, moved, done := a.View().At, time.Now(), make(chan struct{})
	begin := time.AfterFunc(typingDelay, func() { // most answers have text before
		defer close(done)
		i.keep(ctx, a, seen, moved)
	})
	return sync.OnceFunc(func() {
		cancel(errText)
		if !begin.Stop() {
			<-done
		}
	})
}

// indicator is the typing indicator of a message. It runs beside the message, and reads only fields that are set when
// the message is made.
type indicator struct {
	typer   Typer
	message *Message
}

// keep renews the indicator just before the platform hides it, while the answer makes progress. The answer was last seen
// to move at the time moved, to seen.
func (i indicator) keep(ctx context.Context, a *answer.Answer, seen answer.Cursor, moved time.Time) {
	for ctx.Err() == nil {
		wait, ok := i.show(ctx)
		if !ok {
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		switch at := a.View().At; {
		case at != seen:
			seen, moved = at, time.Now()
		case time.Since(moved) >= typingStall:
			if a.Wait(ctx, seen) != nil {
				return
			}
			seen, moved = a.View().At, time.Now()
		}
	}
}

// show shows the indicator once, and returns when to show it again. again is false if it can't be shown at all.
func (i indicator) show(ctx context.Context) (wait time.Duration, again bool) {
	m := i.message
	leave, err := m.gate.Enter(ctx, Ticket{Scopes: m.sink.Scopes(Typing), Priority: PriorityTyping, UnshownSince: time.Now()})
	if errors.Is(err, ErrNoPermit) {
		return typingRetry, true
	} else if err != nil {
		return 0, false
	}
	request, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), typingTimeout, errSilent)
	defer cancel()
	stays, err := i.typer.Typing(request)
	leave(m.withBudgetHint(err))
	switch {
	case errors.Is(err, ErrForbidden), errors.Is(err, ErrGone), errors.Is(err, ErrStale):
		m.log.Warn("the typing indicator was rejected", "err", err)
		return 0, false
	case err != nil:
		return typingFailurePause, true
	}
	return stays * 9 / 10, stays > 0
}
