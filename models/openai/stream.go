package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"parley/core/llm"
	"parley/models/wire"
)

// afterFinish is the time limit for usage and [DONE] after the finish reason. Some servers then leave the connection
// open, which would hold up the end of the answer.
const afterFinish = 5 * time.Second

// maxEvent is the maximum size of an event, in bytes. It is far beyond any regular event.
const maxEvent = 32 << 20

// errRest is the cause of the request's context after afterFinish.
var errRest = errors.New("the answer is complete")

// stream reads one answer. It is complete after its finish reason or [DONE], never because the connection has ended: a
// server that is restarted closes it in the same way. It belongs to one goroutine, except for rest.
type stream struct {
	names   wire.Names
	calls   calls
	finish  llm.FinishReason
	done    bool                    // [DONE] has come
	usage   *llm.Usage              // nil until it has come
	release context.CancelCauseFunc // ends the request
	rest    *time.Timer             // calls release after afterFinish; nil until the answer has finished
	chunk   chunk                   // the newest
	thought reasoning
	owner   string // of the reasoning that is collected
}

// read yields the answer in in until it is complete or yield wants no more, and then returns nil. Otherwise it returns
// an error: a [*wire.Refusal], or one that wraps wire.ErrCut.
func (s *stream) read(in io.Reader, yield func(llm.Chunk) bool) error {
	e := wire.NewEventReader(in, maxEvent)
	defer func() {
		if s.rest != nil {
			s.rest.Stop()
		}
	}()
	for !s.done && e.Next() {
		if more, err := s.event(e, yield); err != nil || !more {
			return err
		}
	}
	// An answer with a finish reason is complete, even if the connection broke after it.
	return wire.End(s.done || s.finish != "", e.Err, s.opaque(), s.usage, yield)
}

// event yields the chunks of one event, and reports whether yield wants more.
func (s *stream) event(e *wire.EventReader, yield func(llm.Chunk) bool) (more bool, err error) {
	data := bytes.TrimSpace(e.Data)
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		s.done = true
		return true, nil
	}
	if len(data) == 0 {
		return true, nil // a keep-alive
	}
	c := &s.chunk
	if err := c.decode(data); err != nil {
		return false, err
	}
	if e.Kind == "error" || c.failed {
		return false, wire.ParseRefusal(data)
	}
	if c.counted {
		usage := c.usage // the last one counts: some send a growing one with every chunk
		s.usage = &usage
	}
	for i := range c.choices {
		if c.choices[i].thinks {
			s.thought.add(data)
		}
		if !s.choice(&c.choices[i], yield) {
			return false, nil
		}
	}
	return true, nil
}

// choice yields the chunks of one choice, and reports whether yield wants more. Of several finish reasons, the first
// counts.
func (s *stream) choice(c *choice, yield func(llm.Chunk) bool) bool {
	if (c.text != "" || c.thinks) && !yield(llm.Chunk{Text: c.text, Alive: c.thinks, Reasoning: c.reason}) {
		return false
	}
	for _, call := range c.calls {
		if d := s.calls.delta(call); d != nil {
			d.Name = s.names.Ours(d.Name)
			if !yield(llm.Chunk{Call: d}) {
				return false
			}
		}
	}
	if c.finish == "" || s.finish != "" {
		return true
	}
	s.finish = llm.FinishReason(c.finish)
	s.rest = time.AfterFunc(afterFinish, func() { s.release(errRest) })
	return yield(llm.Chunk{Finish: s.finish})
}

// calls tells the calls of one answer apart. Servers disagree on how: some number the pieces, some send an id with
// each, some use one number for several calls. The zero value has no calls yet.
type calls struct {
	known []knownCall // by their index in the yielded chunks
}

// delta returns the delta of a call that a piece contains, or nil if there is nothing to yield yet. The first piece
// that is yielded has id and name, as [llm.CallDelta] promises; both are yielded once.
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
		if k.continuedBy(p) {
			return i
		}
	}
	c.known = append(c.known, knownCall{wire: p.index})
	return len(c.known) - 1
}

// knownCall is a call with at least one piece so far.
type knownCall struct {
	wire       int64 // the number that the server uses
	id         string
	told, name bool // whether its id and its name were yielded
	kept       keptCall
}

// continuedBy reports whether p continues k. The server's number decides. Where it is missing, or used for several calls
// (which all begin with an id and a name then), the id decides.
func (k knownCall) continuedBy(p piece) bool {
	id, name := p.id, p.name
	if !p.indexed {
		return id != "" && id == k.id || id == "" && name == ""
	}
	another := name != "" && id != "" && k.id != "" && id != k.id
	return k.wire == p.index && !another
}
