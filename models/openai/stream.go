package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"parley/core/llm"
)

// afterFinish is how long usage and [DONE] may follow the finish reason. Nothing more is said then, and some servers
// leave the line open.
const afterFinish = 5 * time.Second

var (
	errCut  = errors.New("the stream ended before the answer did")
	errRest = errors.New("the answer is complete")
)

// stream reads one answer. Whether it is complete hangs on its finish reason or [DONE], never on the line's end (LM-02).
type stream struct {
	names   names
	calls   calls
	finish  llm.FinishReason
	done    bool // [DONE] has come
	counted bool // usage has come
	usage   llm.Usage
	release context.CancelCauseFunc // ends the request
	rest    *time.Timer             // calls it, once the answer has finished
	chunk   chunk                   // the newest
}

// wantEvents tells a stream from the other things that servers send with a 200.
func wantEvents(res *http.Response) error {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch media {
	case "application/json", "text/html":
	default:
		return nil // some leave it out, or write text/plain
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // half a message is better than none
	if r := parseRefusal(body); r.message != "" {
		return r
	}
	return fmt.Errorf("the server answered with %s instead of a stream of events", media)
}

// read yields what the events of in say until the answer is complete, which is nil, or yield wants no more.
func (s *stream) read(in io.Reader, yield func(llm.Chunk) bool) error {
	e := newEventReader(in)
	defer func() {
		if s.rest != nil {
			s.rest.Stop()
		}
	}()
	for !s.done && e.next() {
		if more, err := s.event(e, yield); err != nil || !more {
			return err
		}
	}
	switch err := e.err; {
	case s.done || s.finish != "":
	case err != nil:
		return fmt.Errorf("%w: %w", errCut, err)
	default:
		return errCut
	}
	if s.counted {
		yield(llm.Chunk{Usage: &s.usage})
	}
	return nil
}

// event yields what one event adds, and reports whether yield wants more.
func (s *stream) event(e *eventReader, yield func(llm.Chunk) bool) (more bool, err error) {
	data := bytes.TrimSpace(e.data)
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
	if e.kind == "error" || c.failed {
		return false, parseRefusal(data)
	}
	if c.counted {
		// The last one counts: some send a growing one with every chunk.
		s.usage = c.usage
		s.counted = true
	}
	for i := range c.choices {
		if !s.choice(&c.choices[i], yield) {
			return false, nil
		}
	}
	return true, nil
}

// choice yields what one chunk adds to the answer, and reports whether yield wants more.
func (s *stream) choice(c *choice, yield func(llm.Chunk) bool) bool {
	if (c.text != "" || c.thinks) && !yield(llm.Chunk{Text: c.text, Alive: c.thinks}) {
		return false
	}
	for _, call := range c.calls {
		if d := s.calls.delta(call); d != nil {
			d.Name = s.names.ours(d.Name)
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
