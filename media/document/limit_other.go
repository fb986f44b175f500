//go:build !unix

package document

import "runtime/debug"

// limit asks the Go runtime to stay within the memory. This system offers no hard limit.
func limit() error {
	debug.SetMemoryLimit(maxMemory)
	return nil
}
