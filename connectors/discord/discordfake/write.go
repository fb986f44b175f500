package discordfake

import (
	"net/http"
	"strconv"
	"time"
)

// slowPieces is how many writes a slow body is cut into.
const slowPieces = 8

// settle records how a call ended.
func (s *Server) settle(c *call, out *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settleLocked(c, out)
}

func (s *Server) settleLocked(c *call, out *reply) {
	e := c.entry
	e.Done, e.Status, e.Code, e.Applied = time.Now(), out.status, out.code, out.applied
	e.Bucket, e.Scope = out.header.Get("X-RateLimit-Bucket"), Scope(out.header.Get("X-RateLimit-Scope"))
	e.Lost = c.fault.DropBefore || c.fault.DropAfter
	if seconds, err := strconv.ParseFloat(out.header.Get("Retry-After"), 64); err == nil {
		e.RetryAfter = time.Duration(seconds * float64(time.Second))
	}
}

// write sends an answer, or as much of it as the fault lets through.
func (s *Server) write(w http.ResponseWriter, out *reply, fault Fault) {
	for name, values := range out.header {
		w.Header()[name] = values
	}
	// A server that frames its answers can't be mistaken for a whole half.
	if out.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(out.body)))
	}
	w.WriteHeader(out.status)
	control := http.NewResponseController(w)
	switch {
	case fault.HalfBody:
		_, _ = w.Write(out.body[:len(out.body)/2]) // the client is cut off anyway
		_ = control.Flush()
		panic(http.ErrAbortHandler)
	case fault.SlowBody > 0:
		s.trickle(w, control, out.body, fault.SlowBody)
	default:
		_, _ = w.Write(out.body) // a client that left is no concern of the server
	}
}

func (s *Server) trickle(w http.ResponseWriter, control *http.ResponseController, body []byte, total time.Duration) {
	for i := range slowPieces {
		if !s.pause(total / slowPieces) {
			panic(http.ErrAbortHandler)
		}
		from, to := len(body)*i/slowPieces, len(body)*(i+1)/slowPieces
		if _, err := w.Write(body[from:to]); err != nil {
			return
		}
		_ = control.Flush() // not every writer can; the rest then arrives at once
	}
}
