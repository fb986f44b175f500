// Package modeltest is one test suite for the models of all wires, and a server for each wire that speaks it as the
// real one does.
package modeltest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Answer is an answer of a server, in the words of no wire.
type Answer struct {
	Think  string   // what it thinks first; with calls, the model wants it back
	Text   []string // in pieces
	Calls  []Call
	Finish string // the wire's word for the end; "" for the usual

	Label string // the media type that the response claims; "" for that of events
	Whole bool   // all at once, although a stream was asked for
	Extra string // more fields of the first call, as a JSON object; only chat completions have that

	Cut   bool       // the line breaks before the end
	Hang  bool       // nothing more comes until the client leaves
	Fails *Refusal   // instead of an answer
	Late  *Refusal   // after the text, within the stream
	Block bool       // the filter refuses the request
	Left  chan error // is told why the client left

	readable bool // see [Seen]
}

// Call is a call of a tool.
type Call struct{ ID, Name, Arguments string }

// Refusal is an error of the server.
type Refusal struct {
	Status     int
	Kind       string // the wire's word
	Message    string
	RetryAfter string // in seconds
}

// Seen is what a server made of a request.
type Seen struct {
	Model    string
	Images   []string // base64
	Results  []string // of calls, in order
	Thoughts []string // that came back
	Limit    int      // of tokens
	Readable bool     // it asks for reasoning as text, where that is needed
	Rejected string   // why it is not valid
	Raw      []byte
	Prompt   []byte // for the cache, without its marks
	Marks    []int  // the lengths of the beginnings that are to be cached; nil for any
}

// Key is the only key that servers accept.
const Key = "sk-model-test-0123456789abcdefghij"

// Usage are the tokens of an answer.
type Usage struct{ Prompt, Cached, Written, Completion int }

// A Fake is a server that answers with what was queued.
type Fake interface {
	http.Handler
	Queue(...Answer)
	Seen() []Seen
}

// wire is how a server speaks.
type wire interface {
	key(r *http.Request) string
	read(r *http.Request, raw []byte) Seen
	refuse(w http.ResponseWriter, e Refusal)
	// stream writes an answer. It returns false where the connection is to break.
	stream(ctx context.Context, e *events, model string, a Answer, u Usage) bool
	// whole is the answer that the events are of.
	whole(events []any) any
	// other answers requests besides those for answers.
	other(w http.ResponseWriter, r *http.Request, raw []byte) bool
}

// server is a Fake.
type server struct {
	wire wire

	mu    sync.Mutex
	queue []Answer
	seen  []Seen
	cache map[string][]string // beginnings of prompts by model
}

func newServer(w wire) *server { return &server{wire: w, cache: map[string][]string{}} }

// Queue implements Fake.
func (s *server) Queue(all ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, all...)
}

// Seen implements Fake.
func (s *server) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen(nil), s.seen...)
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.wire.key(r) != Key {
		s.wire.refuse(w, Refusal{Status: http.StatusUnauthorized, Kind: "authentication_error", Message: "the key " + s.wire.key(r) + " is invalid"})
		return
	}
	if s.wire.other(w, r, raw) {
		return
	}
	seen := s.wire.read(r, raw)
	seen.Raw = raw
	var tools struct{ Tools json.RawMessage }
	if seen.Rejected == "" && json.Unmarshal(raw, &tools) == nil {
		seen.Rejected = judgeTools(tools.Tools)
	}
	a, usage := s.accept(seen)
	if seen.Rejected != "" {
		s.wire.refuse(w, Refusal{Status: http.StatusBadRequest, Kind: "invalid_request_error", Message: seen.Rejected})
		return
	}
	if a.Fails != nil {
		s.wire.refuse(w, *a.Fails)
		return
	}
	a.readable = seen.Readable
	e := &events{w: w, label: a.Label}
	if a.Whole {
		e.sent = &[]any{}
		s.wire.stream(r.Context(), e, seen.Model, a, usage)
		writeJSON(w, http.StatusOK, s.wire.whole(*e.sent))
		return
	}
	if whole := s.wire.stream(r.Context(), e, seen.Model, a, usage); !whole || a.Cut {
		panic(http.ErrAbortHandler)
	}
}

func (s *server) accept(seen Seen) (a Answer, u Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, seen)
	a = Answer{Text: []string{"OK"}}
	if len(s.queue) > 0 && seen.Rejected == "" {
		a, s.queue = s.queue[0], s.queue[1:]
	}
	u = Usage{Prompt: len(seen.Prompt)/4 + 1, Completion: 5}
	u.Cached = s.cached(seen) * u.Prompt / (len(seen.Prompt) + 1)
	if n := len(seen.Marks); n > 0 {
		u.Written = seen.Marks[n-1]*u.Prompt/(len(seen.Prompt)+1) - u.Cached
	}
	return a, u
}

// cached returns how many bytes of the prompt are in the cache, and adds it. With marks, only what was marked is.
func (s *server) cached(seen Seen) (most int) {
	prompt := string(seen.Prompt)
	for _, before := range s.cache[seen.Model] {
		n := 0
		for n < len(before) && n < len(prompt) && before[n] == prompt[n] {
			n++
		}
		if seen.Marks == nil || n == len(before) {
			most = max(most, n)
		}
	}
	if seen.Marks == nil {
		s.cache[seen.Model] = append(s.cache[seen.Model], prompt)
	}
	for _, n := range seen.Marks {
		s.cache[seen.Model] = append(s.cache[seen.Model], prompt[:n])
	}
	return most
}

// events writes server-sent events.
type events struct {
	w     http.ResponseWriter
	open  bool
	label string // the media type; "" for the usual one
	sent  *[]any // instead of w, if it is not nil
}

// send writes an event with a name, or without.
func (e *events) send(name string, data any) {
	if e.sent != nil {
		*e.sent = append(*e.sent, data)
		return
	}
	if !e.open {
		e.open = true
		e.w.Header().Set("Content-Type", cmp.Or(e.label, "text/event-stream; charset=utf-8"))
	}
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", encode(data))
	_ = http.NewResponseController(e.w).Flush() // a client that left needs none
}

// wait ends the answer of a hanging server.
func wait(ctx context.Context, a Answer) {
	if !a.Hang {
		return
	}
	<-ctx.Done()
	if a.Left != nil {
		a.Left <- context.Cause(ctx)
	}
}

type object = map[string]any

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v)) // as above
}
