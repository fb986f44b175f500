package answer

// A Signal wakes all its waiters at once. The zero value is ready to use. A lock of its owner guards its methods.
type Signal struct{ next chan struct{} }

// Next returns a channel that is closed by the next Notify.
func (s *Signal) Next() <-chan struct{} {
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

// Notify wakes those who wait.
func (s *Signal) Notify() {
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}
