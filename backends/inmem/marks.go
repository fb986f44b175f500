package inmem

import (
	"parley/core/chat"
)

// Marks are all that a tracker knows of a room. They only rise.
type Marks struct {
	Latest  chat.ResponseID // the greatest that was claimed; 0 if none was
	Stopped chat.ResponseID // this one and all before it are stopped; 0 if none is
}

// Settle is the truth about id: nil, [chat.ErrSuperseded] or [chat.ErrStopped].
func (m Marks) Settle(id chat.ResponseID) error {
	switch {
	case id <= m.Stopped:
		return chat.ErrStopped
	case id < m.Latest:
		return chat.ErrSuperseded
	}
	return nil
}

// Raised is the greater of both, mark by mark.
func (m Marks) Raised(by Marks) Marks {
	return Marks{max(m.Latest, by.Latest), max(m.Stopped, by.Stopped)}
}
