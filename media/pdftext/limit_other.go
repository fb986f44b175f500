//go:build !unix

package pdftext

import "runtime/debug"

// limit asks the runtime to keep within the memory; there is no way to make it.
func limit() error {
	debug.SetMemoryLimit(maxMemory)
	return nil
}
