package answer

import (
	"slices"

	"parley/core/llm"
)

// Copied is v for a reader who may not keep to it that a view is never changed: lists of its own, but of the same texts and
// files.
func (v View) Copied() View {
	v.History, v.Important = slices.Clone(v.History), slices.Clone(v.Important)
	for i := range v.Segments { // which are made for each view
		v.Segments[i].Files = slices.Clone(v.Segments[i].Files)
	}
	for _, o := range []**Choices{&v.Choices, &v.Outcome.Offer} {
		if *o != nil {
			*o = &Choices{ID: (*o).ID, Options: slices.Clone((*o).Options)}
		}
	}
	return v
}

// Step is a change, and what it makes of the text or the parameters that it adds to.
type Step struct {
	Change
	Whole    string
	NewFiles []llm.File // of a call
}

// StepsSince is Since for observers, with the view if there was more than text; else that is zero.
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

// shows adds to a step what its call has to show then. A callback that brings files is a step of its tool too.
func (s *Step) shows(call *segment) {
	switch {
	case s.Kind == Callback && len(s.Files) > 0:
		s.Tool = &Tool{Name: call.tool.Name, Stage: StageRunning, Parameters: call.tool.Parameters, CompactParams: call.tool.CompactParams}
		s.NewFiles = s.Files
	case s.Kind == ToolStage && s.Tool.Stage == StageRunning:
		s.NewFiles = call.brought
	case s.Kind == ToolStage && s.Tool.Stage == StageEnd:
		s.NewFiles = call.files
	}
}

// structural is false of what only adds to a text, or to parameters, that a reader who is at has begun to read.
func (e entry) structural(at Cursor) bool {
	begins := e.from == 0 && at <= e.end-Cursor(e.n)
	return e.grown == nil || begins || e.change.Kind == Text && e.change.Call != ""
}
