package schedule

import "parley/core/chat"

// Lane is one of the two run queues of a room: that of answers, and that of control runs (commands, and results of
// choices), which are short and must not wait behind an answer.
type Lane struct {
	Room    chat.RoomID
	Control bool
}

// Of returns the runs that belong to this lane.
func (l Lane) Of(runs []chat.Run) (mine []chat.Run) {
	for _, r := range runs {
		if r.Kind.OutOfBand() == l.Control {
			mine = append(mine, r)
		}
	}
	return mine
}
