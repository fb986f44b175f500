// Package inmem keeps in memory what replicas share through Redis: who is latest and who watches. It serves a gateway
// that is one process, and is the local half of each replica of a larger one. Nothing here starts a goroutine that
// outlives its work.
package inmem
