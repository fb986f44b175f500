// Package relay keeps the answers that are generated or watched in this process, and mirrors them between processes
// over a bus that can lose frames: watchers send requests, the holder publishes changes, and the store is authoritative
// for the end.
//
// A [Registry] has one answer for each run, for all its users. The process that holds the run writes into it, and
// readers in the same process read the same value. In any other process a mirror is filled from frames. Nothing is
// published that is not asked for: most answers have no readers elsewhere.
//
// Three things can go wrong, and each has its remedy. A frame is lost: the mirror sees the gap, since a frame says
// where it begins, and asks for everything. The end is lost: the watcher looks into the store from time to time. The
// run moves to another process: its epoch is higher, and the mirror is abandoned, so that readers call [Registry.Watch]
// again and start over.
package relay
