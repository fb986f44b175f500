//go:build !unix

package document

import "runtime/debug"

// limit asks the Go runtime to stay within the memory. This system has no hard limit; the time limit of Command
// applies.
func limit() error {
	debug.SetMemoryLimit(maxMemory)
	return nil
}
