package example_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"parley/connectors/connectortest"
	"parley/core/llm"
	"parley/progressive"
	"parley/sim"
)

const token = "example-token-0123456789"

// fakeServer is a server with one bot, which enforces the platform's limits, and the people who write there.
type fakeServer struct {
	mux  http.ServeMux
	stop chan struct{}

	mu       sync.Mutex
	news     chan struct{} // closed when there is another event
	events   []map[string]any
	number   int
	rooms    map[connectortest.Room][]*message
	nonces   map[string]*message
	faults   []connectortest.Fault
	held     map[connectortest.Room]time.Time
	writes   map[connectortest.Room][]time.Time
	requests []sim.Request
	refused  []string
}

type message struct{ connectortest.Message }

type content struct {
	Text    string    `json:"text"`
	File    *llm.File `json:"file"`
	ReplyTo string    `json:"reply_to"`
	Nonce   string    `json:"nonce"`
}

var _ connectortest.Platform = (*fakeServer)(nil)

func newFakeServer() (*fakeServer, error) {
	w := &fakeServer{
		stop: make(chan struct{}), news: make(chan struct{}), rooms: map[connectortest.Room][]*message{}, nonces: map[string]*message{},
		held: map[connectortest.Room]time.Time{}, writes: map[connectortest.Room][]time.Time{},
	}
	w.mux.HandleFunc("GET /me", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("{}")) })
	w.mux.HandleFunc("GET /events", w.serveEvents)
	w.mux.HandleFunc("POST /rooms/{room}/messages/", w.write(progressive.Post))
	w.mux.HandleFunc("PUT /rooms/{room}/messages/{id}", w.write(progressive.Edit))
	w.mux.HandleFunc("DELETE /rooms/{room}/messages/{id}", w.write(progressive.Delete))
	return w, nil
}

func (w *fakeServer) Handler() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(rw, "wrong token", http.StatusUnauthorized)
			return
		}
		w.mux.ServeHTTP(rw, r)
	})
}

func (w *fakeServer) Close() { close(w.stop) }

// serveEvents waits for news, and forgets what was accepted.
func (w *fakeServer) serveEvents(rw http.ResponseWriter, r *http.Request) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for {
		w.mu.Lock()
		w.events = slices.DeleteFunc(w.events, func(e map[string]any) bool { return e["number"].(int) <= after })
		events, news := slices.Clone(w.events), w.news
		w.mu.Unlock()
		if len(events) > 0 {
			_ = json.NewEncoder(rw).Encode(events)
			return
		}
		select {
		case <-news:
		case <-late.C:
			_, _ = rw.Write([]byte("[]"))
			return
		case <-w.stop:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// write serves the requests that change a room.
func (w *fakeServer) write(op progressive.Op) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		var c content
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil && op != progressive.Delete {
			w.refuse(rw, http.StatusBadRequest, err.Error())
			return
		}
		in, now := connectortest.Room(r.PathValue("room")), time.Now()
		q := sim.Request{From: now, To: now, Scope: string(in), Create: op == progressive.Post, Message: r.PathValue("id")}
		defer func() { w.requests = append(w.requests, q) }()
		f := w.fault(op, in, c.File != nil)
		recent := slices.DeleteFunc(w.writes[in], func(at time.Time) bool { return now.Sub(at) >= 5*time.Second })
		w.writes[in] = append(recent, now)
		switch {
		case now.Before(w.held[in]) || len(recent) >= 5:
			w.refuse(rw, http.StatusTooManyRequests, fmt.Sprintf("%s in %s: too many requests", op, in))
			return
		case f.Hold > 0:
			w.held[in], q.Hold = now.Add(f.Hold), f.Hold
			rw.Header().Set("Retry-After", strconv.Itoa(int(f.Hold/time.Second)))
			http.Error(rw, "slow down", http.StatusTooManyRequests)
			return
		case f.Dropped:
			panic(http.ErrAbortHandler)
		}
		status := w.apply(op, in, r.PathValue("id"), c, &q)
		if f.Lost {
			panic(http.ErrAbortHandler)
		}
		rw.WriteHeader(status)
		_ = json.NewEncoder(rw).Encode(map[string]string{"id": q.Message})
	}
}

func (w *fakeServer) refuse(rw http.ResponseWriter, status int, why string) {
	w.refused = append(w.refused, why)
	http.Error(rw, why, status)
}

// fault takes the fault that a request meets.
func (w *fakeServer) fault(op progressive.Op, in connectortest.Room, file bool) (f connectortest.Fault) {
	for i, f := range w.faults {
		if f.Op == op && f.File == file && (f.In == "" || f.In == in) {
			w.faults = slices.Delete(w.faults, i, i+1)
			return f
		}
	}
	return f
}

// apply carries a request out.
func (w *fakeServer) apply(op progressive.Op, in connectortest.Room, id string, c content, q *sim.Request) (status int) {
	if known := w.nonces[c.Nonce]; op == progressive.Post && known != nil && time.Since(known.Versions[0].At) < 4*time.Minute {
		q.Message, q.Create = known.ID, false
		return http.StatusOK
	}
	i := slices.IndexFunc(w.rooms[in], func(m *message) bool { return m.ID == id && m.ByBot })
	switch {
	case op == progressive.Post:
		m := w.add(in, connectortest.Message{ByBot: true})
		q.Message, w.nonces[c.Nonce] = m.ID, m
		m.set(c)
	case i < 0:
		return http.StatusNotFound
	case op == progressive.Edit:
		w.rooms[in][i].set(c)
	default:
		w.rooms[in] = slices.Delete(w.rooms[in], i, i+1)
	}
	return http.StatusOK
}

func (w *fakeServer) add(in connectortest.Room, l connectortest.Message) *message {
	w.number++
	l.ID = fmt.Sprintf("m%d", w.number)
	m := &message{Message: l}
	w.rooms[in] = append(w.rooms[in], m)
	return m
}

// set gives a message its next version.
func (m *message) set(c content) {
	m.Text, m.Files = c.Text, nil
	if c.File != nil {
		m.Files = []connectortest.File{{Name: c.File.Name, Type: c.File.Type, Data: c.File.Data}}
	}
	m.Versions = append(m.Versions, connectortest.Version{At: time.Now(), Text: c.Text, Files: m.Files})
}
