package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/core/llm"
	"parley/models/wire"
)

// stream translates one answer. Only its end marker completes it: a connection that ends without it was cut. It belongs
// to one goroutine.
type stream struct {
	yield   func(llm.Chunk) bool
	left    bool // yield wants no more
	done    bool
	said    bool            // there was text
	message string          // the message that the newest text belongs to; "" after a call
	foreign map[string]bool // messages that are not the agent's, by their ids
	calls   map[string]*call
	open    []string // ids of calls, in the order of their beginnings
	piece   string   // the call of the newest TOOL_CALL_CHUNK
	last    string   // the agent's text in the newest snapshot
	usage   *llm.Usage
}

// call is a call that the agent makes of one of its tools.
type call struct{ running, ended bool }

// maxCalls is the maximum number of calls in one answer: each is kept until its end.
const maxCalls = 1000

// read handles what next finds with take, until the answer is complete.
func (s *stream) read(e *wire.EventReader, next func() bool, take func() error) error {
	for !s.done && next() {
		if err := take(); err != nil || s.left {
			return err
		}
	}
	switch {
	case !s.done && e.Err != nil:
		return fmt.Errorf("%w: %w", wire.ErrCut, e.Err)
	case !s.done:
		return wire.ErrCut
	}
	// Calls without a result have ended with the answer: otherwise they would be shown as running.
	for _, id := range s.open {
		s.end(id, "", "")
	}
	if s.usage != nil {
		s.give(llm.Chunk{Usage: s.usage})
	}
	s.give(llm.Chunk{Finish: llm.FinishStop})
	return nil
}

// give yields c, unless yield has returned false: an iterator must not call it again.
func (s *stream) give(c llm.Chunk) {
	if !s.left {
		s.left = !s.yield(c)
	}
}

// alive yields a sign of life.
func (s *stream) alive() { s.give(llm.Chunk{Alive: true}) }

// say yields text. Each message is a paragraph of its own; text without an id belongs to the newest message.
func (s *stream) say(message, text string) {
	if text == "" {
		s.alive()
		return
	}
	if message != "" && s.message != "" && s.message != message {
		text = "\n\n" + text
	}
	s.message, s.said = cmp.Or(message, s.message, "m"), true
	s.give(llm.Chunk{Text: text})
}

var (
	errManyCalls = errors.New("the agent makes too many tool calls")
	errNoID      = errors.New("the agent sent a tool call without an id")
)

// start begins a call. A second start of the same call is ignored.
func (s *stream) start(id, name string) error {
	switch {
	case id == "":
		return errNoID
	case s.calls[id] != nil:
		s.alive()
		return nil
	case len(s.calls) == maxCalls:
		return errManyCalls
	}
	s.calls[id], s.open, s.message = &call{}, append(s.open, id), ""
	s.give(llm.Chunk{Remote: &llm.RemoteCall{ID: id, Name: cmp.Or(strings.TrimSpace(name), "tool")}})
	return nil
}

// parameters yields a piece of the parameters of a call.
func (s *stream) parameters(id, piece string) {
	if c := s.calls[id]; c == nil || c.running || c.ended || piece == "" {
		s.alive()
		return
	}
	s.give(llm.Chunk{Remote: &llm.RemoteCall{ID: id, Parameters: piece}})
}

// run marks the parameters of a call as complete.
func (s *stream) run(id string) {
	c := s.calls[id]
	if c == nil || c.running || c.ended {
		s.alive()
		return
	}
	c.running = true
	s.give(llm.Chunk{Remote: &llm.RemoteCall{ID: id, Running: true}})
}

// end ends a call, unless it has ended.
func (s *stream) end(id, result, failed string) {
	c := s.calls[id]
	if c == nil || c.ended {
		return
	}
	c.ended = true
	s.give(llm.Chunk{Remote: &llm.RemoteCall{ID: id, Ended: true, Result: result, Error: failed}})
}

// text returns the content of a JSON string, or other JSON as it is.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
