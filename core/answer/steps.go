package answer

import (
	"slices"

	"parley/core/llm"
)

// Copied returns v with lists of its own, for readers that may modify a view. Texts and files are shared.
func (v View) Copied() View {
	v.History, v.Important = slices.Clone(v.History), slices.Clone(v.Important)
	for i := range v.Segments { // these are created per view
		v.Segments[i].Files = slices.Clone(v.Segments[i].Files)
	}
	for _, o := range []**Choices{&v.Choices, &v.Outcome.Offer} {
		if *o != nil {
			*o = &Choices{ID: (*o).ID, Options: slices.Clone((*o).Options)}
		}
	}
	return v
}

// Step is a change with the resulting text or parameters.
type Step struct {
	Change
	Whole    string
	NewFiles []llm.File // of a call
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

// structural reports whether e is more than text or parameters appended to what a reader at at has already begun to
// read.
func (e entry) structural(at Cursor) bool {
	begins := e.from == 0 && at <= e.end-Cursor(e.n)
	return e.grown == nil || begins || e.change.Kind == Text && e.change.Call != ""
}
