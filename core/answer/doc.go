// Package answer holds what one run says, as a versioned value: an ordered list of segments with one writer and any number of readers, each of
// which holds a cursor. Writers never wait for readers.
package answer
