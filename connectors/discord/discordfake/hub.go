package discordfake

import (
	"cmp"
	"slices"
	"time"
)

// Identify is one op 2 that the gateway received.
type Identify struct {
	At       time.Time
	Intents  Intents
	Shard    [2]int
	Accepted bool
	Session  string // of an accepted one
	Presence string // the line of its custom status
}

// Resume is one op 6 that the gateway received.
type Resume struct {
	At       time.Time
	Session  string
	Seq      int
	Accepted bool
}

// Closed is the end of one gateway connection.
type Closed struct {
	At       time.Time
	Session  string // "" if it ended before one was begun
	ByServer bool   // the fake closed or cut it
	// Sent and Received are the close codes that the fake sent and got, 0 for
	// none: a connection that was just cut has neither.
	Sent, Received int
}

// hub is the gateway's state; guarded by the server's mutex.
type hub struct {
	conns      map[*conn]bool
	sessions   map[string]*session
	starts     startLimit
	mischief   mischief
	dropAcks   int    // negative: all
	beats      int    // heartbeats that came
	beaten     string // in the last one
	silent     int    // connections that get no HELLO; negative: all
	deaf       int    // resumes that get no answer; negative: all
	resumeURL  string // in place of the gateway's own
	refusals   []bool
	opened     int
	identifies []Identify
	resumes    []Resume
	closes     []Closed
}

func newHub(identifies int, now time.Time) hub {
	return hub{conns: map[*conn]bool{}, sessions: map[string]*session{}, starts: newStartLimit(identifies, now)}
}

func (h *hub) cutAll() {
	for c := range h.conns {
		c.cut()
	}
}

// endAll ends every session, as the reset of a token does.
func (h *hub) endAll(code int) {
	for _, sn := range h.sessions {
		sn.end()
		if sn.conn != nil {
			sn.conn.close(code)
		}
	}
}

// Identifies returns every op 2 received.
func (s *Server) Identifies() []Identify {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hub.identifies)
}

// Resumes returns every op 6 received.
func (s *Server) Resumes() []Resume {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hub.resumes)
}

// Closes returns every gateway connection that has ended, in order.
func (s *Server) Closes() []Closed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hub.closes)
}

// Connections is how many gateway connections were ever opened, and how many
// stand now.
func (s *Server) Connections() (opened, standing int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hub.opened, len(s.hub.conns)
}

// Sessions is how many sessions are logged in and connected now, that is, how
// many get events at once.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, sn := range s.hub.sessions {
		if sn.conn != nil && !sn.ended {
			n++
		}
	}
	return n
}

// Shards are the shards that are logged in and connected now, [number, of], in
// order.
func (s *Server) Shards() (shards [][2]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sn := range s.hub.sessions {
		if sn.conn != nil && !sn.ended {
			shards = append(shards, [2]int{sn.shard, sn.shards})
		}
	}
	slices.SortFunc(shards, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0])) })
	return shards
}

// CloseGateway closes every gateway connection with a code. 4000 can be
// resumed; 1000, 1001, 4007, 4009 and the fatal ones end the session (DR-16).
func (s *Server) CloseGateway(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.hub.conns {
		c.close(code)
	}
}

// CutGateway drops every gateway connection without a close frame.
func (s *Server) CutGateway() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hub.cutAll()
}

// RequestReconnect sends op 7 on every connection.
func (s *Server) RequestReconnect() { s.broadcast(object{"op": opReconnect, "d": nil}) }

// RequestHeartbeat sends op 1 on every connection.
func (s *Server) RequestHeartbeat() { s.broadcast(object{"op": opHeartbeat, "d": nil}) }

// InvalidateSessions sends op 9 on every connection, and ends the sessions
// unless they are resumable.
func (s *Server) InvalidateSessions(resumable bool) {
	s.broadcast(object{"op": opInvalidSession, "d": resumable})
	if resumable {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sn := range s.hub.sessions {
		sn.end()
	}
}

// RefuseResume answers the next op 6 with op 9. If it is not resumable the
// session is ended.
func (s *Server) RefuseResume(resumable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hub.refusals = append(s.hub.refusals, resumable)
}

// Silence accepts the next n connections and never sends a HELLO on them; a
// negative n means all from now on, 0 none (DR-29).
func (s *Server) Silence(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hub.silent = n
}

// IgnoreResumes leaves the next n op 6 without an answer; a negative n means all
// from now on, 0 none (DR-29).
func (s *Server) IgnoreResumes(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hub.deaf = n
}

// SetResumeURL changes the resume_gateway_url of the sessions that begin from
// now on: where nothing listens, they can't be resumed (DR-29).
func (s *Server) SetResumeURL(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hub.resumeURL = url
}

// LastHeartbeat is the data of the op 1 that came last.
func (s *Server) LastHeartbeat() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hub.beaten
}

// Heartbeats is how many op 1 came.
func (s *Server) Heartbeats() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hub.beats
}

// DropAcks leaves the next n heartbeats without an ACK; a negative n means all
// from now on, 0 none.
func (s *Server) DropAcks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hub.dropAcks = n
}

// ResetToken makes the bot's token invalid, as Discord does when the day's
// identifies are overspent: sessions close with 4004, and REST answers 401.
func (s *Server) ResetToken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resetToken()
}

func (s *Server) resetToken() {
	s.token = ""
	s.hub.endAll(closeBadToken)
}

func (s *Server) broadcast(frame object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.hub.conns {
		if c.session != nil {
			c.out.put(encode(frame))
		}
	}
}
