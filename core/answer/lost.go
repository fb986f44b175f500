package answer

import "errors"

// ErrLost means that another process holds the run, or has finished it.
var ErrLost = errors.New("another process holds the run")
