package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"parley/core/llm"
	"parley/models/wire"
)

// afterFinish is how long usage and [DONE] may follow the finish reason. Nothing more is said then, and some servers
// leave the line open.
const afterFinish = 5 * time.Second

// maxEvent is the limit of an event of the stream, in bytes.
const maxEvent = 32 << 20

var errRest = errors.New("the answer is complete")

// stream reads one answer. Whether it is complete hangs on its finish reason or [DONE], never on the line's end (LM-02).
type stream struct {
	names   wire.Names
	calls   calls
	finish  llm.FinishReason
	done    bool // [DONE] has come
	counted bool // usage has come
	usage   llm.Usage
	release context.CancelCauseFunc // ends the request
	rest    *time.Timer             // calls it, once the answer has finished
	chunk   chunk                   // the newest
	thought reasoning
	owner   string // of the thought
}

// read yields what the events of in say until the answer is complete, which is nil, or yield wants no more.
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
	switch err := e.Err; {
	case s.done || s.finish != "":
	case err != nil:
		return fmt.Errorf("%w: %w", wire.ErrCut, err)
	default:
		return wire.ErrCut
	}
	if o := s.thought.opaque(s.owner); o != nil && !yield(llm.Chunk{Opaque: o}) {
		return nil
	}
	if s.counted {
		yield(llm.Chunk{Usage: &s.usage})
	}
	return nil
}

// event yields what one event adds, and reports whether yield wants more.
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
		// The last one counts: some send a growing one with every chunk.
		s.usage = c.usage
		s.counted = true
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

// choice yields what one chunk adds to the answer, and reports whether yield wants more.
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
