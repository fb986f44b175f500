package openai

import (
	"slices"

	"parley/core/llm"
)

// calls tells the calls of an answer apart. The zero value knows none yet.
type calls struct {
	known []knownCall // by the index under which they are yielded
}

// knownCall is a call of which something has come.
type knownCall struct {
	wire       int64 // the index that the server uses
	id         string
	told, name bool // whether its id and its name were yielded
}

// delta reads one piece of a call; nil where it says nothing yet.
func (c *calls) delta(p piece) *llm.CallDelta {
	d := &llm.CallDelta{Name: p.name, Parameters: p.arguments}
	if p.id == "" && d.Name == "" && d.Parameters == "" {
		return nil
	}
	d.Index = c.index(p)
	known := &c.known[d.Index]
	if known.id == "" {
		known.id = p.id // later ids are repetitions, or newly invented
	}
	if known.name {
		d.Name = ""
	}
	if d.Name == "" && d.Parameters == "" {
		return nil // an id that comes before its name waits for it
	}
	if !known.told {
		d.ID = known.id
	}
	known.told, known.name = known.told || d.ID != "", known.name || d.Name != ""
	return d
}

// index finds the call that a piece belongs to, or makes room for it.
func (c *calls) index(p piece) int {
	for i, k := range slices.Backward(c.known) { // of several under one index, the newest goes on
		if k.takes(p) {
			return i
		}
	}
	c.known = append(c.known, knownCall{wire: p.index})
	return len(c.known) - 1
}

// takes reports whether p goes on with k. The server's index rules. Where it leaves that out, or uses it for several
// calls (which then come each with an id and a name), the id does.
func (k knownCall) takes(p piece) bool {
	id, name := p.id, p.name
	if !p.indexed {
		return id != "" && id == k.id || id == "" && name == ""
	}
	another := name != "" && id != "" && k.id != "" && id != k.id
	return k.wire == p.index && !another
}
