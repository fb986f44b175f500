package toolcall

import (
	"errors"
	"sync"

	"parley/core/answer"
)

// A Risk is an operation of a run that can crash its process, such as a call of a tool or reading a file. It is
// journaled before it begins, so that the run is blamed if the process crashes meanwhile; each note of the run has it,
// see [chat.Note]. A nil Risk is not stored. It is safe for concurrent use.
type Risk struct {
	// Store stores a note with the current risk. It is tried once: while the store is down, the work continues without
	// it.
	Store func() error

	mu   sync.Mutex
	what string
}

// Begin stores the operation that begins, or its end with "". It fails only if another process has taken over the run.
func (r *Risk) Begin(what string) error {
	if r == nil {
		return nil
	}
	r.Set(what)
	if err := r.Store(); errors.Is(err, answer.ErrLost) {
		return err
	}
	return nil
}

// Set is [Risk.Begin] without a write: the next note of the run has it.
func (r *Risk) Set(what string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.what = what
}

// Now returns the current operation, or "".
func (r *Risk) Now() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.what
}

// During calls do, and stores the risk around it if risky is set. It fails with the error of Begin, and does not call
// do then.
func (r *Risk) During(what string, risky bool, do func()) error {
	if !risky {
		do()
		return nil
	}
	if err := r.Begin(what); err != nil {
		return err
	}
	do()
	return r.Begin("")
}
