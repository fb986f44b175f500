package inmem

import (
	"parley/core/chat"
)

// Marks are a tracker's record of a room. They only increase.
type Marks struct {
	Latest  chat.ResponseID // the greatest claimed turn; 0 if there is none
	Stopped chat.ResponseID // this turn and all before it are stopped; 0 if there is none
}

// Settle returns the state of turn id: nil, [chat.ErrSuperseded] or [chat.ErrStopped].
func (m Marks) Settle(id chat.ResponseID) error {
	switch {
	case id <= m.Stopped:
		return chat.ErrStopped
	case id < m.Latest:
		return chat.ErrSuperseded
	}
	return nil
}

// Raised returns the greater of both, mark by mark.
func (m Marks) Raised(by Marks) Marks {
	return Marks{max(m.Latest, by.Latest), max(m.Stopped, by.Stopped)}
}
