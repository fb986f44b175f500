// Package inmem keeps in memory what replicas share through Redis: the latest turns and live answers. It serves a
// single-process gateway, and is the local part of each replica of a larger one. Nothing here starts a goroutine that
// outlives its work.
package inmem
