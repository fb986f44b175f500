package answer

import "context"

// seen is how far people see an answer that is shown in messages.
type seen struct {
	to      Cursor
	changed chan struct{} // made by who waits, closed by the next call of Seen
}

// AllSeen is what surfaces say that show nothing, or nothing more, before the end.
const AllSeen = ^Cursor(0)

// Seen records that all changes up to at are visible to users. Surfaces call it; those that show nothing before the end
// call it with the greatest cursor, so that no action waits for them.
func (a *Answer) Seen(at Cursor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at <= a.seen.to {
		return
	}
	if a.seen.to = at; a.seen.changed != nil {
		close(a.seen.changed)
		a.seen.changed = nil
	}
}

// Hidden says that people see nothing more before the end.
func (a *Answer) Hidden() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen.to == AllSeen
}

// WaitSeen returns when a surface has said that people see what had changed up to at, or with the cause of ctx.
func (a *Answer) WaitSeen(ctx context.Context, at Cursor) error {
	for {
		a.mu.Lock()
		if a.seen.to >= at {
			a.mu.Unlock()
			return nil
		}
		if a.seen.changed == nil {
			a.seen.changed = make(chan struct{})
		}
		changed := a.seen.changed
		a.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
