// Package contain runs the code of others, such as plugins, providers and models, so that it harms nothing but its own call: a panic
// becomes an error, and a call that does not heed its context is left behind. Nothing is logged here: the caller logs the error,
// whose text has the stack, or counts it as any other failure.
package contain

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// A Panic is a recovered panic. Its text is for logs, never for users or models.
type Panic struct {
	What  string // the code that panicked
	Value any
	Stack []byte
}

// Error implements error.
func (e *Panic) Error() string { return fmt.Sprintf("%s panicked: %v\n%s", e.What, e.Value, e.Stack) }

// Recover stores a panic of what in err as a [*Panic]. It is deferred.
func Recover(err *error, what string) {
	if p := recover(); p != nil {
		*err = &Panic{What: what, Value: p, Stack: debug.Stack()}
	}
}

// Call returns the error of f, or its panic as a [*Panic].
func Call(what string, f func() error) (err error) {
	defer Recover(&err, what)
	return f()
}

// Await returns the result of f, or its panic as a [*Panic]. If f has not returned when the grace is over that begins with the end of
// ctx, it is left behind, and the error is the cause of ctx. The goroutine of f belongs to the owner of start.
func Await[T any](ctx context.Context, start func(func()), what string, grace time.Duration, f func() (T, error)) (T, error) {
	return Begin(ctx, start, what, grace, f)()
}

// Begin starts f like [Await], and returns a function that waits for its result. That is called once.
func Begin[T any](ctx context.Context, start func(func()), what string, grace time.Duration, f func() (T, error)) (wait func() (T, error)) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	start(func() {
		var r result
		r.err = Call(what, func() (err error) {
			r.value, err = f()
			return err
		})
		done <- r
	})
	return func() (T, error) {
		select {
		case r := <-done: // in time, also if it is asked for later
			return r.value, r.err
		default:
		}
		var over <-chan time.Time
		for ended := ctx.Done(); ; {
			select {
			case r := <-done:
				return r.value, r.err
			case <-ended:
				ended, over = nil, time.After(grace)
			case <-over:
				var none T
				return none, fmt.Errorf("%s was left behind: %w", what, context.Cause(ctx))
			}
		}
	}
}

// Wait calls wait and returns when that returns, or with the cause of ctx.
func Wait(ctx context.Context, wait func()) error {
	done := make(chan struct{})
	go func() { wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
