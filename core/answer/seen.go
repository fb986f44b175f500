package answer

import "context"

// seen is the position up to which an answer is visible in messages.
type seen struct {
	to      Cursor
	changed Signal // of the next call of Seen
}

// AllSeen is reported by surfaces that show nothing (more) before the end.
const AllSeen = ^Cursor(0)

// Seen records that all changes up to at are visible to users. Surfaces call it; those that show nothing before the end
// call it with the greatest cursor, so that no action waits for them.
func (a *Answer) Seen(at Cursor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at <= a.seen.to {
		return
	}
	a.seen.to = at
	a.seen.changed.Notify()
}

// Hidden reports whether nothing more is shown before the end.
func (a *Answer) Hidden() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen.to == AllSeen
}

// WaitSeen returns when a surface has reported that the changes up to at are visible, or with the cause of ctx.
func (a *Answer) WaitSeen(ctx context.Context, at Cursor) error {
	for {
		a.mu.Lock()
		if a.seen.to >= at {
			a.mu.Unlock()
			return nil
		}
		changed := a.seen.changed.Next()
		a.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
