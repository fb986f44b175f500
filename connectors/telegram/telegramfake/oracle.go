package telegramfake

import (
	"maps"
	"slices"
	"time"
)

// Request is one request of the bot, as the server received it.
type Request struct {
	At, Ended   time.Time // Ended is zero while it is in progress
	Host        string    // that the request was addressed to; tells clients apart that have an address each
	Method      string
	Params      map[string]string // nested values are JSON
	Chat        int64             // 0 if the request names no existing chat
	Message     int               // the message that was sent, edited or deleted
	Status      int               // of the response; 0 if there was none
	Description string
	RetryAfter  int
	Applied     bool   // it took effect, whether the bot learned that or not
	Early       bool   // it came before the end of a hold (invariant I6)
	Fault       string // the injected fault
}

// Log returns all requests in the order of their arrival.
func (s *Server) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.log))
	for i, r := range s.log {
		out[i] = *r
		out[i].Params = maps.Clone(r.Params)
	}
	return out
}

// Messages returns what users see in c now, oldest first.
func (s *Server) Messages(c Chat) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.must(c).order {
		if !m.deleted {
			out = append(out, m.public())
		}
	}
	return out
}

// History returns all versions of a message, also of a deleted one.
func (s *Server) History(m Message) []Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec := s.must(Chat{ID: m.Chat}).messages[m.ID]; rec != nil {
		return slices.Clone(rec.versions)
	}
	return nil
}

// Actions returns the chat actions that c has shown.
func (s *Server) Actions(c Chat) []Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.must(c).actions)
}
