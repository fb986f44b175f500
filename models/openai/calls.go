package openai

import (
	"slices"

	"parley/core/llm"
)

// calls tells the calls of one answer apart. Servers disagree on how: some number the pieces, some send an id with
// each, some use one number for several calls. The zero value has no calls yet.
type calls struct {
	known []knownCall // by the index under which they are yielded
}

// knownCall is a call of which at least one piece has arrived.
type knownCall struct {
	wire       int64 // the number that the server uses
	id         string
	told, name bool // whether its id and its name were yielded
	kept       keptCall
}

// delta returns what a piece adds to its call, or nil if there is nothing to yield yet. The first piece that is yielded
// has id and name, as [llm.CallDelta] promises; both are yielded once.
func (c *calls) delta(p piece) *llm.CallDelta {
	d := &llm.CallDelta{Name: p.name, Parameters: p.arguments}
	if p.id == "" && d.Name == "" && d.Parameters == "" && !p.kept.some() {
		return nil
	}
	d.Index = c.index(p)
	known := &c.known[d.Index]
	known.kept.add(p)
	if known.id == "" {
		known.id = p.id // later ids are repetitions, or newly invented ones
	}
	if known.name {
		d.Name = ""
	}
	if d.Name == "" && d.Parameters == "" {
		return nil // an id that arrives before its name waits for it
	}
	if !known.told {
		d.ID = known.id
	}
	known.told, known.name = known.told || d.ID != "", known.name || d.Name != ""
	return d
}

// index returns the index of the call that a piece belongs to, and adds the call if it is new.
func (c *calls) index(p piece) int {
	for i, k := range slices.Backward(c.known) { // of several calls under one number, the newest continues
		if k.takes(p) {
			return i
		}
	}
	c.known = append(c.known, knownCall{wire: p.index})
	return len(c.known) - 1
}

// takes reports whether p continues k. The server's number decides. Where it is missing, or used for several calls
// (each of which then begins with an id and a name), the id decides.
func (k knownCall) takes(p piece) bool {
	id, name := p.id, p.name
	if !p.indexed {
		return id != "" && id == k.id || id == "" && name == ""
	}
	another := name != "" && id != "" && k.id != "" && id != k.id
	return k.wire == p.index && !another
}
