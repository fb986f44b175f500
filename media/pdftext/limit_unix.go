//go:build unix

package pdftext

import "syscall"

// limit bounds the memory and the time of this process.
func limit() error {
	memory := syscall.Rlimit{Cur: maxMemory, Max: maxMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &memory); err != nil {
		return err
	}
	seconds := uint64(maxTime.Seconds())
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds})
}
