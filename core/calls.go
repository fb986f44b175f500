package core

import "strings"

// ToolBlock is one call as people see it: the eleven fields.
type ToolBlock struct {
	ID string `json:"id"`
	Tool
}

// PastCall is a call at its end, as it is remembered with the answer.
type PastCall struct {
	ToolBlock
	At int `json:"at,omitempty"` // how many bytes of the answer's text stand above it
}

const (
	mostCalls     = 100       // that are remembered of one answer: the first
	maxCallsBytes = maxResult // and of all of them, what went in and came out (LM-08)
)

// Calls are the calls of v as they are remembered: without their pictures.
func (v View) Calls() (all []PastCall) {
	room, above := maxCallsBytes, 0
	for _, s := range v.Segments {
		if s.Call != "" && s.Tool.Name != "" && len(all) < mostCalls {
			all = append(all, PastCall{ToolBlock{s.Call, s.Tool.kept(&room)}, above})
		}
		if s.Text != "" {
			if above > 0 {
				above += len(between)
			}
			above += len(s.Text)
		}
	}
	return all
}

// kept is t as it is remembered, in at most room bytes, which it takes away.
func (t Tool) kept(room *int) Tool {
	t.ParametersChunk, t.Images = "", nil
	for _, s := range []*string{&t.Name, &t.CompactParams, &t.ShortResult, &t.Error, &t.Parameters, &t.Result} {
		*s = cutAt(clean(*s), max(0, *room))
		*room -= len(*s)
	}
	return t
}

// tell writes what an earlier holder said: the calls stand where they stood among the text.
func (a *Answer) tell(text string, history []string, calls []PastCall) {
	a.mu.Lock()
	a.history = history
	a.mu.Unlock()
	step, told := 0, 0
	say := func(upTo int) {
		if upTo > told {
			a.Apply(Change{Kind: Text, Step: step, Text: text[told:upTo]})
			step, told = step+1, min(len(text), upTo+len(between))
		}
	}
	for _, c := range calls {
		if parts(text, c.At) {
			say(c.At)
		}
		a.Apply(Change{Kind: ToolStage, Step: step, Call: c.ID, Tool: &c.Tool})
	}
	say(len(text))
}

// parts says that a stretch of text ends there.
func parts(text string, at int) bool {
	return at == len(text) || 0 < at && at < len(text) && strings.HasPrefix(text[at:], between)
}
