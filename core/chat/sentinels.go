package chat

import "errors"

// Errors of stores, connectors and runs, and causes of canceled contexts.
var (
	ErrNothingToSay = errors.New("nothing to say") // the run ends silently
	ErrSuperseded   = errors.New("superseded by a later turn")
	ErrStopped      = errors.New("stopped")
	ErrTimeout      = errors.New("the run took too long")
	ErrBusy         = errors.New("another run holds the room")        // the holder is notified when that run ends
	ErrNotFound     = errors.New("not found")                         // no such room, run or memory
	ErrShutdown     = errors.New("the gateway is shutting down")      // interrupted runs are adopted at the next start
	ErrCrashed      = errors.New("the process has lost its lease")    // of the ports of a dead node, in tests
	ErrParked       = errors.New("the run waits for a person")        // without its room, see [storage.Parking]
	ErrUnreached    = errors.New("the conversation no longer exists") // a permanent error of an address
	ErrUnseen       = errors.New("it has not been shown yet")         // the platform is slow
	ErrUnanswered   = errors.New("no choice was made in time")        // to an action's question
	ErrTooLarge     = errors.New("larger than this platform accepts") // text or address
)
