package discordfake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// maxBody is Discord's limit for a whole request (DR-07).
const maxBody = 25 << 20

// call is one REST request on its way through the server.
type call struct {
	http   *http.Request
	do     *endpoint // nil: no such endpoint
	known  bool      // the path exists, if for another method
	params map[string]string
	query  url.Values
	raw    []byte       // as it came
	body   []byte       // the JSON of it
	files  []Attachment // that came with it
	entry  *Request
	fault  Fault
}

// reply is an answer before it is written.
type reply struct {
	status  int
	header  http.Header
	body    []byte
	code    int // Discord's, of a refusal
	applied bool
	shared  bool // a 429 that is not the bot's own doing (DR-04)
}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if websocket.IsWebSocketUpgrade(r) {
		s.serveGateway(w, r)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/attachments/") {
		s.serveFile(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away in mid-request, or is far over the limit
	}
	c := s.arrive(r, body)
	if !s.pause(c.fault.Delay) || c.fault.DropBefore {
		s.settle(c, &reply{header: http.Header{}})
		panic(http.ErrAbortHandler)
	}
	out := s.perform(c)
	if c.fault.Twice {
		s.perform(s.repeat(c))
	}
	if !s.pause(c.fault.DelayAnswer) || c.fault.DropAfter {
		panic(http.ErrAbortHandler)
	}
	s.write(w, out, c.fault)
}

// arrive logs a request and picks the fault that is planned for it.
func (s *Server) arrive(r *http.Request, body []byte) *call {
	path, ours := apiPath(r)
	c := &call{http: r, query: r.URL.Query(), raw: body, body: body}
	c.entry = &Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Body: body}
	if ours {
		c.do, c.params, c.known = find(s.routes, r.Method, path)
	}
	if c.do != nil {
		c.entry.Route = c.do.route
		c.entry.Channel, c.entry.Message = c.params["channel_id"], c.params["message_id"]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host = r.Host
	s.journal.add(c.entry)
	c.fault = s.faults.take(c.entry)
	c.entry.Fault = c.fault.Name
	return c
}

// repeat is the same call once more, as a proxy might send it.
func (s *Server) repeat(c *call) *call {
	again, entry := *c, *c.entry
	entry.At, entry.Fault = time.Now(), "repeated by the network"
	again.entry, again.fault, again.files = &entry, Fault{}, nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal.add(&entry)
	return &again
}

// perform decides and applies a call, all at one instant.
func (s *Server) perform(c *call) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var out *reply
	if c.fault.Answer == nil || c.fault.Answer.AfterApplying {
		out = s.judge(c, now)
	}
	if c.fault.Answer != nil {
		out = s.faultReply(c, out != nil && out.applied, now)
	}
	s.limits.noteAnswer(out, now)
	s.settleLocked(c, out)
	return out
}

// judge is the server's own answer to a call.
func (s *Server) judge(c *call, now time.Time) *reply {
	if s.limits.banned(now) {
		return htmlBan()
	}
	if e := s.admit(c); e != nil {
		return s.refusal(c, e, nil)
	}
	header, limited := s.limits.charge(c, now)
	if limited != nil {
		c.entry.DuringHold = limited.held
		return limited.reply(header)
	}
	if e := s.checkForm(c); e != nil {
		return s.refusal(c, e, header)
	}
	status, body, e := c.do.do(s, c)
	if e != nil {
		return s.refusal(c, e, header)
	}
	out := &reply{status: status, header: header, applied: true}
	if body != nil {
		out.body = encode(body)
		header.Set("Content-Type", "application/json")
	}
	return out
}

// admit checks what comes before the rate limits.
func (s *Server) admit(c *call) *apiError {
	if !validUserAgent(c.http.UserAgent()) {
		e := refuse(http.StatusForbidden, 40333, "internal network error")
		e.malformed = true
		return e
	}
	if c.do == nil {
		e := refuse(http.StatusNotFound, 0, "404: Not Found")
		if c.known {
			e = refuse(http.StatusMethodNotAllowed, 0, "405: Method Not Allowed")
		}
		e.malformed = true
		return e
	}
	authorized := s.token != "" && c.http.Header.Get("Authorization") == "Bot "+s.token
	if c.do.route != GetGateway && !c.do.route.free() && !authorized {
		return refuse(http.StatusUnauthorized, 0, "401: Unauthorized")
	}
	return nil
}

func validUserAgent(agent string) bool {
	ok, err := regexp.MatchString(`^DiscordBot \(\S+, ?\S+\)`, agent)
	return ok && err == nil
}

func (s *Server) refusal(c *call, e *apiError, header http.Header) *reply {
	if e.malformed {
		s.reject(*c.entry, e.String())
	}
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "application/json")
	if after, ok := e.extra["retry_after"].(float64); ok {
		header.Set("Retry-After", strconv.Itoa(ceilSeconds(time.Duration(after*float64(time.Second)))))
	}
	return &reply{status: e.status, header: header, body: encode(e.body()), code: e.code}
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("discordfake: answer cannot be encoded: %v", err))
	}
	return raw
}
