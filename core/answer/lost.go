package answer

import "errors"

// ErrLost says that another process holds the run, or that it was finished there.
var ErrLost = errors.New("another process holds the run")
