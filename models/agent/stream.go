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

// stream reads one answer. Only its end marker makes it complete.
type stream struct {
	yield   func(llm.Chunk) bool
	left    bool // yield wants no more
	done    bool
	said    bool            // there was text
	message string          // the message that the newest text belongs to, unless a call came after it
	foreign map[string]bool // messages that the agent did not write
	calls   map[string]*call
	open    []string // ids of calls, in their order
	piece   string   // the call of the newest chunk of one
	last    string   // the agent's text in the newest snapshot of messages
	usage   *llm.Usage
}

// call is a call of a tool of the agent.
type call struct{ running, ended bool }

// maxCalls is how many calls one answer can have.
const maxCalls = 1000

// read takes what next finds until the answer is complete.
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
	for _, id := range s.open {
		s.end(id, "", "")
	}
	if s.usage != nil {
		s.give(llm.Chunk{Usage: s.usage})
	}
	s.give(llm.Chunk{Finish: llm.FinishStop})
	return nil
}

func (s *stream) give(c llm.Chunk) {
	if !s.left {
		s.left = !s.yield(c)
	}
}

// alive yields a sign of life.
func (s *stream) alive() { s.give(llm.Chunk{Alive: true}) }

// say yields text. Messages are paragraphs of their own; text without an id belongs to the newest one.
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

// start begins a call. A second start of one is ignored.
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

// parameters adds to those of a call.
func (s *stream) parameters(id, piece string) {
	if c := s.calls[id]; c == nil || c.running || c.ended || piece == "" {
		s.alive()
		return
	}
	s.give(llm.Chunk{Remote: &llm.RemoteCall{ID: id, Parameters: piece}})
}

// run says that the parameters of a call are complete.
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

// text is a JSON string, or other JSON as it is written.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
