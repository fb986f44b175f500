// Package modelfake is a server of the OpenAI API for tests: chat completions, transcriptions, pictures and embeddings. It
// answers with scripts, has every fault of a real provider on demand, is as strict about requests as the real one, and
// remembers them all.
//
//	srv := modelfake.New(modelfake.Options{})
//	srv.Queue(modelfake.Script{modelfake.Pace(50 * time.Millisecond), modelfake.Text("Hello there", modelfake.ByWord)})
//	web := httptest.NewServer(srv) // or: defer srv.Serve(listener)()
//	… use web.URL + "/v1" as base URL …
//	calls := srv.Requests()
//
// All waiting is done by timers, so that a testing/synctest bubble drives it.
package modelfake

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// DefaultModel is the only model of a server whose Options name none; such a server answers to any other name too.
const DefaultModel = "fake-model"

// Options of a server; the zero value serves.
type Options struct {
	Key    string               // when set, requests need "Authorization: Bearer <Key>", else 401
	Models []string             // what GET /v1/models lists; when set, other models are 404
	Choose func(Request) Script // the answer where nothing is queued; nil means Echo. Called concurrently
}

// Server is an http.Handler for GET /v1/models, POST /v1/chat/completions and the endpoints of [Use]. All methods are safe for concurrent use.
type Server struct {
	options Options

	cache Cache

	mu       sync.Mutex
	idle     sync.Cond // busy has become 0
	busy     int       // requests being answered
	queue    []Script
	requests []*Request

	useQueues map[string][]Script // by endpoint
	uses      []*Use
}

// New returns a server that echoes until it is told otherwise.
func New(o Options) *Server {
	if o.Choose == nil {
		o.Choose = Echo
	}
	s := &Server{options: o}
	s.idle.L = &s.mu
	return s
}

// Queue adds scripts; each answers one valid request, in the order of arrival, before Options.Choose is asked.
func (s *Server) Queue(scripts ...Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, scripts...)
}

// Requests returns all requests for completions so far, in the order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Request, len(s.requests))
	for i, r := range s.requests {
		all[i] = *r
	}
	return all
}

// Rejected returns those of Requests that were no valid ones, and those of Uses with as much of them as a Request has;
// Request.Rejected tells why. A test of a client that is meant to be correct ends by asserting that there are none.
func (s *Server) Rejected() []Request {
	bad := slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Rejected == "" })
	for _, u := range s.Uses() {
		if u.Rejected != "" {
			bad = append(bad, Request{Number: u.Number, At: u.At, Header: u.Header, Rejected: u.Endpoint + ": " + u.Rejected, Status: u.Status})
		}
	}
	return bad
}

// Serve answers on l until stop is called, which breaks the connections under way and returns when all is quiet.
func (s *Server) Serve(l net.Listener) (stop func()) {
	server := &http.Server{Handler: s}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // ends with ErrServerClosed, or when a test has closed l itself
	}()
	return func() {
		_ = server.Close()
		<-done
		s.mu.Lock()
		defer s.mu.Unlock()
		for s.busy > 0 {
			s.idle.Wait()
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.enter(1)
	defer s.enter(-1)
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/models":
		s.listModels(w, r)
	case "POST /v1/chat/completions":
		s.complete(w, r)
	case "POST " + Transcriptions, "POST " + Generations, "POST " + Speech, "POST " + Embeddings:
		s.use(w, r)
	default:
		refuse(http.StatusNotFound, "", "Invalid URL (%s %s)", r.Method, r.URL.Path).write(w)
	}
}

func (s *Server) enter(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy += n; s.busy == 0 {
		s.idle.Broadcast()
	}
}

func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	if e := s.authorize(r); e != nil {
		e.write(w)
		return
	}
	names := s.options.Models
	if names == nil {
		names = []string{DefaultModel}
	}
	list := modelList{Object: "list", Data: []model{}}
	for _, name := range names {
		list.Data = append(list.Data, model{ID: name, Object: "model", Created: 1710000000, OwnedBy: "modelfake"})
	}
	writeJSON(w, http.StatusOK, list)
}

func (s *Server) authorize(r *http.Request) *apiError {
	if s.options.Key == "" || r.Header.Get("Authorization") == "Bearer "+s.options.Key {
		return nil
	}
	return refuse(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided.")
}

// complete answers one request for a completion.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left before it had asked
	}
	req := &Request{At: time.Now(), Header: r.Header.Clone(), Raw: raw}
	refusal := s.examine(r, req)
	script := s.accept(req, refusal)
	if refusal != nil {
		refusal.write(w)
		s.note(func() { req.Ended, req.Status = time.Now(), refusal.status })
		return
	}
	read := s.cache.Read(req.Model, req.prompt(), len(req.prompt()), 1000)
	s.note(func() { req.cached = read })
	if script == nil {
		script = s.options.Choose(*req)
	}
	answer := newReply(w, req)
	err = answer.play(r.Context(), script)
	s.note(func() {
		req.Ended, req.Events, req.Usage = time.Now(), answer.events, answer.usage()
		req.Status = answer.status
		if err != nil && !errors.Is(err, errCut) {
			req.Cancelled = req.Ended
		}
	})
	if errors.Is(err, errCut) {
		cut(w)
	}
}

// examine decodes and judges; nil means that the request is a good one.
func (s *Server) examine(r *http.Request, req *Request) *apiError {
	if e := s.authorize(r); e != nil {
		return e
	}
	if err := json.Unmarshal(req.Raw, &req.Body); err != nil {
		return refuse(http.StatusBadRequest, "", "The body is not a JSON object of this API: %v", err)
	}
	if e := check(req.Raw, req.Body); e != nil {
		return e
	}
	if s.options.Models != nil && !slices.Contains(s.options.Models, req.Model) {
		return refuse(http.StatusNotFound, "model_not_found", "The model `%s` does not exist or you do not have access to it.", req.Model)
	}
	return nil
}

// accept logs req and takes its script from the queue, if there is one.
func (s *Server) accept(req *Request, refusal *apiError) Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	req.Number = len(s.requests)
	if refusal != nil {
		req.Rejected = refusal.Message
		return nil
	}
	if len(s.queue) == 0 {
		return nil
	}
	script := s.queue[0]
	s.queue = s.queue[1:]
	if script == nil {
		script = Script{}
	}
	return script
}

func (s *Server) note(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
}
