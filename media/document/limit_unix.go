//go:build unix

package document

import (
	"runtime/debug"
	"syscall"
)

// limit bounds the memory and the CPU time of this process. RLIMIT_DATA counts memory that can be written, unlike
// RLIMIT_AS, which counts addresses: the Go runtime reserves far more addresses than it uses.
func limit() error {
	debug.SetMemoryLimit(maxMemory / 2) // collects garbage before the hard limit
	memory := syscall.Rlimit{Cur: maxMemory, Max: maxMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &memory); err != nil {
		return err
	}
	seconds := uint64(maxTime.Seconds())
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds})
}
