package core

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
)

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
	maxGallery    = 24 << 20  // and of their pictures, as data: URLs
)

// Calls are the calls of v as they are remembered: of their pictures only the numbers by which [Pictures] knows them.
func (v View) Calls() []PastCall {
	var k keeper
	return k.keep(v)
}

// keeper makes of an answer what is remembered of it.
type keeper struct {
	bytes    int // of parameters and results
	size     int // of pictures
	pictures []Blob
}

func (k *keeper) keep(v View) (all []PastCall) {
	above := 0
	for _, s := range v.Segments {
		if s.Call != "" && s.Tool.Stage != "" && len(all) < mostCalls {
			all = append(all, PastCall{ToolBlock{s.Call, k.tool(s.Tool)}, above})
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

func (k *keeper) tool(t Tool) Tool {
	t.ParametersChunk = ""
	for _, s := range []*string{&t.Name, &t.CompactParams, &t.ShortResult, &t.Error, &t.Parameters, &t.Result} {
		*s = cutAt(clean(*s), max(0, maxCallsBytes-k.bytes))
		k.bytes += len(*s)
	}
	var kept []string
	for _, url := range t.Images {
		if k.size+len(url) > maxGallery {
			continue
		}
		if b, ok := fromDataURL(url); ok {
			kept = append(kept, strconv.Itoa(len(k.pictures)))
			k.pictures, k.size = append(k.pictures, b), k.size+len(url)
		}
	}
	t.Images = kept
	return t
}

// pictured is calls with the pictures that a run has shown. Those that are gone are left out.
func (rt *Runtime) pictured(ctx context.Context, run RunID, calls []PastCall) []PastCall {
	all := slices.Clone(calls)
	for i := range all {
		var urls []string
		for _, name := range all[i].Images {
			n, err := strconv.Atoi(name)
			if err != nil {
				continue
			}
			b, err := rt.cfg.Store.Picture(ctx, run, n)
			if err == nil {
				urls = append(urls, dataURL(b))
			} else if !errors.Is(err, ErrNotFound) {
				rt.cfg.Log.Warn("a picture can't be shown again", "run", run, "err", err)
			}
		}
		all[i].Images = urls
	}
	return all
}

// tell writes what an earlier holder said: the calls stand where they stood among the text.
func (a *Answer) tell(text string, history []string, calls []PastCall) {
	a.mu.Lock()
	a.history = sayings{texts: history}
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
		a.Apply(Change{Kind: ToolStage, Step: step, Call: c.ID, Tool: &Tool{Name: c.Name, Stage: StageStart}})
		a.Apply(Change{Kind: ToolStage, Step: step, Call: c.ID, Tool: &c.Tool})
	}
	say(len(text))
}

// parts says that a stretch of text ends there.
func parts(text string, at int) bool {
	return at == len(text) || 0 < at && at < len(text) && strings.HasPrefix(text[at:], between)
}
