package discordfake

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Opcodes and close codes of the gateway, in Discord's numbers.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opPresence       = 3
	opVoiceState     = 4
	opResume         = 6
	opReconnect      = 7
	opRequestMembers = 8
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11

	closeUnknownOp      = 4001
	closeDecodeError    = 4002
	closeNotLoggedIn    = 4003
	closeBadToken       = 4004
	closeTwice          = 4005
	closeBadSeq         = 4007
	closeRateLimited    = 4008
	closeTimedOut       = 4009
	closeBadShard       = 4010
	closeTooManyGuilds  = 4011
	closeBadVersion     = 4012
	closeBadIntents     = 4013
	closeDisallowed     = 4014
	gatewayMaxPayload   = 4096
	gatewaySendsPerTime = 120
	gatewaySendsTime    = time.Minute

	// goodbye is how long a closed connection may take to answer.
	goodbye = time.Second
	// writeTimeout is how long a client may leave a frame unread.
	writeTimeout = 10 * time.Second
)

// conn is one WebSocket. Its reader is the request's goroutine; one more
// writes what is in out.
type conn struct {
	ws      *websocket.Conn
	out     *outbox
	version string
	url     string // where to resume

	// Guarded by the server's mutex.
	session *session
	sends   []time.Time

	deadline sync.Mutex
	leaving  bool // guarded by deadline
}

func (c *conn) close(code int) { c.out.close(code) }

// cut drops the connection with whatever was still to be written.
func (c *conn) cut() {
	c.out.close(0)
	_ = c.ws.NetConn().Close() // it is to be gone; how is no matter
}

// serveGateway carries one connection from the upgrade to its end.
func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.wg.Done()
	if !s.admitGateway(w, r) {
		return
	}
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	c := &conn{ws: ws, out: newOutbox(), version: r.URL.Query().Get("v"), url: "ws://" + r.Host}
	if !s.register(c) {
		_ = ws.Close()
		return
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write()
	}()
	received := s.read(c)
	s.unregister(c, received)
	c.out.close(0)
	<-written
	_ = ws.Close()
}

// enter counts a gateway request in, unless the server is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}

// admitGateway logs the attempt and lets planned faults meet it.
func (s *Server) admitGateway(w http.ResponseWriter, r *http.Request) bool {
	entry := &Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Route: ConnectGateway}
	s.mu.Lock()
	s.journal.add(entry)
	fault := s.faults.take(entry)
	entry.Fault = fault.Name
	s.mu.Unlock()
	if !s.pause(fault.Delay) || fault.DropBefore || fault.DropAfter {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	entry.Done, entry.Status, entry.Applied = time.Now(), http.StatusSwitchingProtocols, true
	if fault.Answer != nil {
		entry.Status, entry.Applied = fault.Answer.Status, false
	}
	s.mu.Unlock()
	if fault.Answer != nil {
		s.write(w, &reply{status: fault.Answer.Status, header: fault.Answer.Header, body: []byte(fault.Answer.Body)}, fault)
		return false
	}
	return true
}

func (s *Server) register(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.hub.conns[c] = true
	s.hub.opened++
	switch {
	case c.version != "10":
		c.close(closeBadVersion)
	case s.hub.silent != 0:
		s.hub.silent--
	default:
		c.out.put(encode(object{"op": opHello, "d": object{"heartbeat_interval": s.opts.heartbeat.Milliseconds()}}))
	}
	return true
}

func (s *Server) unregister(c *conn, received int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.hub.conns, c)
	sent, closing := c.out.ended()
	end := Closed{At: time.Now(), ByServer: closing, Sent: sent, Received: received}
	if c.session != nil {
		end.Session = c.session.id
		code := sent
		if !closing {
			code = received
		}
		c.session.detach(c, code)
	}
	s.hub.closes = append(s.hub.closes, end)
}

// write sends frames until the outbox ends, then the close frame. The reader
// ends the connection.
func (c *conn) write() {
	for {
		frames, code, more := c.out.take()
		if !more {
			if code != 0 {
				text := websocket.FormatCloseMessage(code, "")
				_ = c.ws.WriteControl(websocket.CloseMessage, text, time.Now().Add(goodbye))
			}
			c.expect(goodbye, true)
			return
		}
		for _, frame := range frames {
			_ = c.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
			if c.ws.WriteMessage(websocket.TextMessage, frame) != nil {
				_ = c.ws.NetConn().Close() // so that the reader knows
				return
			}
		}
	}
}

// expect ends the reading if nothing comes for d; after the last call no other
// one counts.
func (c *conn) expect(d time.Duration, last bool) {
	c.deadline.Lock()
	defer c.deadline.Unlock()
	if !c.leaving {
		c.leaving = last
		_ = c.ws.SetReadDeadline(time.Now().Add(d))
	}
}

// read handles what the client sends, until the end; it returns the close code
// received, or 0.
func (s *Server) read(c *conn) int {
	silence := s.opts.heartbeat * 3 / 2
	c.expect(silence, false)
	for {
		_, data, err := c.ws.ReadMessage()
		if err != nil {
			return s.readFailed(c, err)
		}
		if beat := s.handleFrame(c, data); beat {
			c.expect(silence, false)
		}
	}
}

// readFailed explains the end of a connection. A client that stopped beating
// is told so.
func (s *Server) readFailed(c *conn, err error) int {
	var closed *websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
		return closed.Code
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.close(closeTimedOut) // without effect if it is closing already
	}
	return 0
}
