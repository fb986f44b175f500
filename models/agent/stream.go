package agent

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"parley/core/llm"
	"parley/models/wire"
)

// stream translates one answer. Only its end marker completes it: a connection that ends without it was cut. It belongs
// to one goroutine.
type stream struct {
	yield   func(llm.Chunk) bool
	agent   string // the owner's name for it, for approvals
	runID   string
	left    bool // yield wants no more
	done    bool
	said    bool            // there was text
	message string          // the message that the newest text belongs to; "" after a call
	above   string          // the text of other messages since the last call
	latest  string          // the text of that message since then
	foreign map[string]bool // messages that are not the agent's, by their ids
	calls   map[string]*call
	open    []string // ids of calls, in the order of their beginnings
	piece   string   // the call of the newest TOOL_CALL_CHUNK
	last    string   // the agent's text in the newest snapshot
	files   []llm.File
	fleeing []string // ids of statuses that are removed at the end
	usage   *llm.Usage
	kept    kept // for the next request
	asked   []question
	reply   reply // the answer so far, as the AI SDK wants it back
	board   board
	length  int // of the text, in bytes
}

// call is a call that the agent makes of one of its tools.
type call struct {
	name           string
	running, ended bool
}

const (
	maxCalls = 200       // in one answer: each is kept until its end
	maxText  = 256 << 10 // bytes of text in one answer: more than a hundred messages in a chat
)

// read handles each event of body with take, or each of its lines, until the answer is complete.
func (s *stream) read(body io.Reader, lines bool, take func(data []byte) error) error {
	e := wire.NewEventReader(body, maxEvent)
	next, newest := e.Line, ""
	if !lines {
		next = func() (data []byte, ok bool) {
			ok = e.Next()
			return e.Data, ok
		}
	}
	for !s.done {
		data, ok := next()
		data = bytes.TrimSpace(data)
		switch {
		case !ok && e.Err != nil:
			return fmt.Errorf("%w: %w", wire.ErrCut, e.Err)
		case !ok:
			return wire.ErrCut
		case len(data) == 0, e.ID != "" && e.ID == newest: // sent twice
			continue
		}
		newest = e.ID
		if err := take(data); err != nil || s.left {
			return err
		}
		if s.length > maxText {
			return errLongText
		}
	}
	return s.conclude()
}

// conclude yields the end of a complete answer: calls without a result have ended with it, as they would be shown as
// running otherwise, and questions follow.
func (s *stream) conclude() error {
	for _, id := range s.open {
		s.end(id, "", "")
	}
	for _, id := range s.fleeing {
		s.give(llm.Chunk{Status: &llm.Status{ID: id}})
	}
	finish, err := s.ask()
	if err == nil && s.length > maxText {
		err = errLongText
	}
	if err != nil {
		return err
	}
	s.give(llm.Chunk{State: raw(s.kept), Usage: s.usage})
	s.give(llm.Chunk{Finish: finish})
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
	given := text
	if message != "" && s.message != "" && s.message != message {
		s.above, s.latest = s.above+s.latest+"\n\n", ""
		given = "\n\n" + text
	}
	s.message, s.said, s.latest = cmp.Or(message, s.message, "m"), true, s.latest+text
	if s.length += len(given); s.length > maxText { // the text so far stays
		return
	}
	s.give(llm.Chunk{Text: given})
}

// rewrite replaces the text of the newest message. Text above a call stays, and so do other messages.
func (s *stream) rewrite(message, text string) {
	switch rest, grows := strings.CutPrefix(text, s.latest); {
	case message != s.message || s.latest == "" || text == s.latest:
		s.alive()
	case grows:
		s.say(message, rest)
	default:
		if s.length += len(text) - len(s.latest); s.length > maxText {
			return
		}
		s.give(llm.Chunk{Rewrites: true, Text: s.above + text})
		s.latest = text
	}
}

// reason yields readable reasoning.
func (s *stream) reason(text string) { s.give(llm.Chunk{Alive: true, Reasoning: text}) }

// status shows a status in place of the earlier one with its id.
func (s *stream) status(id, text string) {
	s.give(llm.Chunk{Status: &llm.Status{ID: cmp.Or(id, "status"), Text: text}})
}

// file shows a file in base64 below the answer, with those of this run before it. The agent's statuses have other ids.
func (s *stream) file(name, kind, data string) error {
	f, err := dataFile(name, kind, data)
	if err == nil {
		s.files = append(s.files, f)
		s.give(llm.Chunk{Status: &llm.Status{ID: "files of " + s.runID, Files: s.files}})
	}
	return err
}

var (
	errManyCalls = errors.New("the agent makes too many tool calls")
	errLongText  = errors.New("the text of the agent is too long")
	errNoID      = errors.New("the agent sent a tool call without an id")
	errFile      = errors.New("the agent sent a file that can't be read")
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
	name = cmp.Or(strings.TrimSpace(name), "tool")
	s.calls[id], s.open = &call{name: name}, append(s.open, id)
	s.message, s.latest, s.above = "", "", ""
	s.give(llm.Chunk{Remote: &llm.RemoteCall{ID: id, Name: name}})
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

// running marks the parameters of a call as complete, and shows its progress.
func (s *stream) running(id, short string) {
	c := s.calls[id]
	if c == nil || c.ended || c.running && short == "" {
		s.alive()
		return
	}
	c.running = true
	s.give(llm.Chunk{Remote: &llm.RemoteCall{ID: id, Running: true, Short: short}})
}

// end ends a call, unless it has ended.
func (s *stream) end(id, result, failed string, files ...llm.File) {
	c := s.calls[id]
	if c == nil || c.ended {
		return
	}
	c.ended = true
	s.give(llm.Chunk{Remote: &llm.RemoteCall{ID: id, Ended: true, Result: result, Error: failed, Files: files}})
}

// plain returns the content of a JSON string, or other JSON as it is.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// dataFile reads a file from base64.
func dataFile(name, kind, data string) (llm.File, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 || len(raw) > llm.MaxFile {
		return llm.File{}, errFile
	}
	return llm.File{Name: name, Type: kind, Data: raw}, nil
}
