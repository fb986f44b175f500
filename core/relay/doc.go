// Package relay holds the answers that are made or watched in this process, and carries them between processes over a bus that can lose frames:
// watchers ask, the maker publishes what is new, and the store tells the end.
package relay
