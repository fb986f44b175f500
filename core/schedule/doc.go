// Package schedule decides which run is next: how a message affects a room's open runs, how many answers are generated
// for a person at a time, when a run is retried after crashes, and how long bots can talk to each other. Apart from its
// locks it is pure.
package schedule
