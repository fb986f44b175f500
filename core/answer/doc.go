// Package answer defines a run's output as a versioned value: an ordered list of segments with one writer and any
// number of readers, each with its own cursor. Writers never wait for readers.
package answer
