package answer

import (
	"context"

	"parley/core/llm"
)

// seen is the end of the part of an answer that is visible in messages.
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

// Step is a change with the resulting text or parameters.
type Step struct {
	Change
	Whole    string
	NewFiles []llm.File // of a call
}

// shows adds the files of a call to a step. A callback with files is also a step of its tool.
func (s *Step) shows(call *segment) {
	switch {
	case s.Kind == Callback && len(s.Files) > 0:
		t := call.tool
		s.Tool = &Tool{Name: t.Name, Label: t.Label, Hidden: t.Hidden, Stage: StageRunning, Parameters: t.Parameters, CompactParams: t.CompactParams, Worded: t.Worded}
		s.NewFiles = s.Files
	case s.Kind == ToolStage && s.Tool.Stage == StageRunning:
		s.NewFiles = call.brought
	case s.Kind == ToolStage && s.Tool.Stage == StageEnd:
		s.NewFiles = call.files
	}
}

// StepsSince is like Since, for observers. It also returns the view if there was more than text; otherwise the view is
// zero.
func (a *Answer) StepsSince(at Cursor) (steps []Step, v View, next Cursor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	more := false
	for _, e := range a.log[a.after(at):] {
		s := Step{Change: a.read(e, at)}
		if e.grown != nil {
			s.Whole = e.grown.String()[:e.from+e.n]
		}
		s.shows(e.seg)
		more = more || e.structural(at)
		steps = append(steps, s)
	}
	if more {
		v = a.viewLocked()
	}
	return steps, v, max(at, a.at)
}
