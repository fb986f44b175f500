package inmem

import "parley/core"

// Marks are all that a tracker knows of a room. They only rise.
type Marks struct {
	Latest  core.ResponseID // the greatest that was claimed; 0 if none was
	Stopped core.ResponseID // this one and all before it are stopped; 0 if none is
}

// Settle is the truth about id: nil, [core.ErrSuperseded] or [core.ErrStopped].
func (m Marks) Settle(id core.ResponseID) error {
	switch {
	case id <= m.Stopped:
		return core.ErrStopped
	case id < m.Latest:
		return core.ErrSuperseded
	}
	return nil
}

// Raised is the greater of both, mark by mark.
func (m Marks) Raised(by Marks) Marks {
	return Marks{max(m.Latest, by.Latest), max(m.Stopped, by.Stopped)}
}
