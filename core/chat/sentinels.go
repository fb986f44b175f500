package chat

import "errors"

// What stores, connectors and runs answer, and why contexts are cancelled.
var (
	ErrSuperseded = errors.New("superseded by a later turn")
	ErrStopped    = errors.New("stopped")
	ErrTimeout    = errors.New("the run took too long")
	ErrBusy       = errors.New("another run holds the room")        // its holder looks again when that ends
	ErrNotFound   = errors.New("not found")                         // there is no such room, run or memory
	ErrShutdown   = errors.New("the gateway is shutting down")      // runs that it cuts off are adopted at the next start
	ErrCrashed    = errors.New("the process has lost its lease")    // what a dead node's ports answer, in tests
	ErrUnreached  = errors.New("the conversation no longer exists") // an address that cannot be opened, now or later
	ErrUnseen     = errors.New("it has not been shown yet")         // the platform takes its time
	ErrUnanswered = errors.New("no choice was made in time")        // what an action asked
	ErrTooLarge   = errors.New("larger than this platform accepts") // of text and of addresses
)
