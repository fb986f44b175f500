//go:build unix

package parser

import (
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// limit bounds the memory, the CPU time and the written files of this process. RLIMIT_DATA counts memory that can be
// written, unlike RLIMIT_AS, which counts addresses: the Go runtime reserves far more addresses than it uses.
func limit() error {
	runtime.GOMAXPROCS(1)               // answers come first
	debug.SetMemoryLimit(maxMemory / 2) // collects garbage before the hard limit
	for resource, most := range map[int]uint64{
		unix.RLIMIT_DATA: maxMemory, unix.RLIMIT_CPU: uint64(maxTime.Seconds()), unix.RLIMIT_FSIZE: maxWritten, unix.RLIMIT_CORE: 0,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}

// lock locks a folder until the returned file is closed, also by the end of this process. It fails if the folder is
// locked.
func lock(path string, _ bool) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close() // only locked
		return nil, err
	}
	return f, nil
}
