package schedule

import (
	"time"

	"parley/core/chat"
)

// Lane is one of the two lines of runs that a room has.
type Lane struct {
	Room    chat.RoomID
	Control bool
}

// Of are those of runs that go in this lane.
func (l Lane) Of(runs []chat.Run) (mine []chat.Run) {
	for _, r := range runs {
		if r.Kind.OutOfBand() == l.Control {
			mine = append(mine, r)
		}
	}
	return mine
}

// HeartbeatEvery is how often a runtime renews its lease and looks for rooms that no process serves.
const HeartbeatEvery = 5 * time.Second
