//go:build !unix

package parser

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// limit asks the Go runtime to stay within the memory. This system has no hard limit; the time limit of a [Process]
// applies.
func limit() error {
	runtime.GOMAXPROCS(1) // answers come first
	debug.SetMemoryLimit(maxMemory)
	return nil
}

// lock fails for a folder that is not new and can be in use. Folders have no locks here, but a process ends in time.
func lock(path string, isNew bool) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !isNew && time.Since(info.ModTime()) < 2*maxTime {
		err = errors.New("it can be in use")
	}
	return nil, err
}
