package chat

import "time"

// Fleet is the processes that use one store, and the work that they have. It names no room and no person.
type Fleet struct {
	Replicas []Replica // by their names
	Leases   []Lease   // by their names
	Waiting  int       // open runs that no living process has started
	Oldest   time.Time // when the oldest of those was opened; zero if there is none
}

// Replica is one process.
type Replica struct {
	Owner      string
	AliveUntil time.Time // it is taken for dead then, unless it sends another heartbeat
	Leaving    bool      // it ends as planned
	Runs       int       // that it has started and that have not ended
}

// Lease is what one process at a time holds, such as the connection of a bot.
type Lease struct {
	Name  string
	Owner string
	Ends  time.Time
}
