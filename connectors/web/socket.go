package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"parley/core/chat"
)

const (
	socketPath     = "/api/socket"
	socketProtocol = "parley"  // the subprotocol
	maxCall        = 256 << 10 // bytes of a client's message: files are uploaded by HTTP
	maxPending     = 32        // requests of a socket at a time
	pingPause      = 25 * time.Second
	silence        = time.Minute // without a message or the reply to a ping: the client is gone
	farewell       = time.Second // until the client has confirmed the end
)

// The codes that end a socket, besides those of the standard. Below 4400 the client should come back, from 4400 on not with
// the same token or message.
const (
	closeRestart = websocket.CloseServiceRestart // 1012: the gateway stops
	closeForm    = 4400                          // the message is not one of this protocol
	closeExpired = 4401                          // the token has expired: come back with another one
	closeRevoked = 4403                          // the key was revoked
)

// socketAPI serves the web API over a WebSocket: a message of the client is a request of the HTTP API, and passes its handlers
// with all their checks. Their replies and events go back over the socket.
type socketAPI struct{ web *Web }

// socket is one connection. One goroutine reads it; the requests write to it by turns, each its newest state when its turn
// comes, so that nothing is queued for a slow reader except one write of each.
type socket struct {
	web  *Web
	conn *websocket.Conn
	r    *http.Request // the first one: all others have its headers
	ctx  context.Context
	ping *time.Timer

	writing sync.Mutex // held for one message

	mu      sync.Mutex
	pending map[string]context.CancelFunc // by the client's names of requests
	work    sync.WaitGroup                // of the pending ones

	reads []string // its conversations: see [typists]
}

// connect begins a socket: GET /api/socket. The guard has checked the Origin already.
func (d socketAPI) connect(rw http.ResponseWriter, r *http.Request) {
	if isClosed(d.web.leaving) {
		d.web.broken(rw, "begin a socket", chat.ErrShutdown)
		return
	}
	up := websocket.Upgrader{
		Subprotocols: []string{socketProtocol}, CheckOrigin: func(*http.Request) bool { return true },
		Error: func(rw http.ResponseWriter, _ *http.Request, _ int, _ error) {
			rw.Header().Set("Upgrade", "websocket")
			fail(rw, http.StatusUpgradeRequired, "This address is for WebSocket connections.")
		},
	}
	conn, err := up.Upgrade(hijacker{rw}, r, nil)
	if err != nil {
		d.web.opts.Log.Debug("a socket did not begin", "err", err)
		return
	}
	defer d.web.reading()()
	ctx, cancel := context.WithCancelCause(r.Context())
	s := &socket{web: d.web, conn: conn, r: r, ctx: ctx, pending: map[string]context.CancelFunc{}}
	allowed, done := readerOf(r).allowed(ctx)
	defer done()
	defer context.AfterFunc(allowed, func() { s.end(context.Cause(allowed)) })()
	defer context.AfterFunc(d.web.serving, func() { s.end(chat.ErrShutdown) })()
	s.read()
	cancel(errGone)
	s.mu.Lock()
	s.ping.Stop()
	s.mu.Unlock()
	s.work.Wait()
	d.web.typists.leave(s)
	_ = conn.Close() // the close frame was written before
}

// hijacker gives the connection of a request to the library, which does not look below wrapped writers.
type hijacker struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(h.ResponseWriter).Hijack()
}

// read begins the requests of the client, one after the other, until the connection ends.
func (s *socket) read() {
	s.conn.SetReadLimit(maxCall)
	extend := func(string) error { return s.conn.SetReadDeadline(time.Now().Add(silence)) }
	s.conn.SetPongHandler(extend)
	s.pingLater()
	for wrong := false; ; {
		_ = extend("") // the next read fails then
		kind, data, err := s.conn.ReadMessage()
		switch {
		case errors.Is(err, websocket.ErrReadLimit):
			_ = s.conn.SetReadDeadline(time.Now().Add(farewell)) // the client reads the reason when it has sent all
			_, _ = io.CopyN(io.Discard, s.conn.NetConn(), maxSkipped)
			return
		case err != nil:
			return
		case wrong:
			continue
		}
		var in socketCall
		if wrong = json.NewDecoder(&jsonBounds{r: bytes.NewReader(data)}).Decode(&in) != nil || kind != websocket.TextMessage; wrong {
			s.close(closeForm, "BAD_REQUEST")
			continue
		}
		s.begin(in, data)
	}
}

// pingLater pings the client until the connection ends.
func (s *socket) pingLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil {
		s.ping = time.AfterFunc(pingPause, func() {
			if s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(patience)) == nil {
				s.pingLater()
			}
		})
	}
}

// socketCall is the part of a client's message that chooses its route. The other members are those of the route's body.
type socketCall struct {
	Request      string `json:"request"` // the client's name for it, which its replies have
	Type         string `json:"type"`
	Conversation string `json:"conversation"`
	After        string `json:"after,omitempty"`
}

// route returns the route of a message; an empty method is none.
func (a *socketCall) route() (method string, to *url.URL) {
	to = &url.URL{Path: conversationsPath + "/" + a.Conversation}
	switch a.Type {
	case "send":
		to.Path += "/messages/stream"
	case "choose", "approve":
		to.Path += "/choices/stream"
	case "stop":
		to.Path += "/stop"
	case "typing":
	case "resume":
		to.Path += "/stream"
		to.RawQuery = url.Values{"after": {a.After}}.Encode()
		return http.MethodGet, to
	default:
		return "", nil
	}
	return http.MethodPost, to
}

// begin begins a request, and returns when its reply begins, so that a later message meets the state that this one has made.
func (s *socket) begin(in socketCall, body []byte) {
	out := &socketReply{socket: s, request: in.Request, header: http.Header{}, begun: make(chan struct{})}
	if in.Type == "cancel" { // ends the reading, not the answer
		s.mu.Lock()
		defer s.mu.Unlock()
		if cancel := s.pending[in.Request]; cancel != nil {
			cancel()
		}
		return
	}
	method, to := in.route()
	ctx, no := s.enter(in, method)
	if no != nil {
		no.reply(out)
		out.finish()
		return
	}
	r := s.r.Clone(ctx)
	r.Method, r.URL, r.RequestURI = method, to, to.RequestURI()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Type", "application/json")
	go func() {
		defer func() {
			if failed := recover(); failed != nil && failed != http.ErrAbortHandler { //nolint:errorlint // a value of its own
				s.web.opts.Log.Error("a request of a socket failed", "type", in.Type, "err", failed)
			}
			if out.status/100 == 2 {
				s.web.typists.enter(s, in.Conversation)
			}
			s.leave(in.Request)
			out.finish()
			s.work.Done()
		}()
		if in.Type == "typing" {
			s.typing(out, r, in.Conversation)
			return
		}
		s.web.latest.Load().handler.ServeHTTP(out, r)
	}()
	<-out.begun
}

// enter notes a request as pending, until leave. Its context ends with the socket, or when the client cancels it.
func (s *socket) enter(in socketCall, method string) (context.Context, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case method == "" || in.Conversation == "" || !isKey(in.Conversation):
		return nil, refused(http.StatusBadRequest, "type is send, resume, choose, approve, stop, typing or cancel, and conversation the id of one.")
	case in.Request == "" || !isKey(in.Request):
		return nil, refused(http.StatusBadRequest, "request is a name of 1 to 128 bytes.")
	case s.pending[in.Request] != nil:
		return nil, refused(http.StatusConflict, "There is a request with this name already.")
	case len(s.pending) >= maxPending:
		return nil, crowded("This connection has too many requests. Please wait for one.")
	case isClosed(s.web.leaving):
		return nil, s.web.failures.refuse("begin a request", chat.ErrShutdown)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.pending[in.Request] = cancel
	s.work.Add(1)
	return ctx, nil
}

func (s *socket) leave(request string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[request]()
	delete(s.pending, request)
}

// end closes the connection for a reason, after its streams: they end for it by themselves.
func (s *socket) end(why error) {
	if s.ctx.Err() != nil && !errors.Is(why, chat.ErrShutdown) {
		return // the client has gone
	}
	s.work.Wait()
	switch {
	case errors.Is(why, errExpired):
		s.close(closeExpired, codeExpired)
	case errors.Is(why, errRevoked):
		s.close(closeRevoked, codeRevoked)
	default:
		s.close(closeRestart, "RESTARTING")
	}
}

// close tells the client that the connection ends, and why. It ends when the client has confirmed that, or soon.
func (s *socket) close(code int, why string) {
	_ = s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(farewell))
	time.AfterFunc(farewell, func() { _ = s.conn.Close() })
}

// write sends one message of several parts. Each piece has a deadline of its own; a client that takes none is disconnected.
func (s *socket) write(parts ...[]byte) (err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	out, err := s.conn.NextWriter(websocket.TextMessage)
	for _, p := range parts {
		for len(p) > 0 && err == nil {
			n := min(len(p), maxWrite)
			if err = s.conn.SetWriteDeadline(time.Now().Add(patience)); err == nil {
				_, err = out.Write(p[:n])
			}
			p = p[n:]
		}
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		_ = s.conn.Close() // reading ends, and with it all requests
	}
	return err
}
