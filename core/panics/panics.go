// Package panics turns a panic of a plugin, a provider or a model into an error, so that it ends only the call that caused it.
// Nothing is logged here: the caller logs the error, whose text has the stack, or counts it as any other failure.
package panics

import (
	"fmt"
	"runtime/debug"
)

// An Error is a recovered panic. Its text is for logs, never for users or models.
type Error struct {
	What  string // the code that panicked
	Value any
	Stack []byte
}

func (e *Error) Error() string { return fmt.Sprintf("%s panicked: %v\n%s", e.What, e.Value, e.Stack) }

// Recover, when deferred, stores a panic of what in err as an [*Error].
func Recover(err *error, what string) {
	if p := recover(); p != nil {
		*err = &Error{What: what, Value: p, Stack: debug.Stack()}
	}
}

// Call returns the result of f, or its panic as an [*Error].
func Call(what string, f func() error) (err error) {
	defer Recover(&err, what)
	return f()
}
