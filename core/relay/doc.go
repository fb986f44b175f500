// Package relay keeps the answers that are generated or watched in this process, and mirrors them between processes
// over a bus that can lose frames: watchers send requests, the holder publishes changes, and the store is authoritative
// for the end.
package relay
