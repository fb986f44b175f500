package telegramfake

import (
	"net/http"
	"reflect"
	"strings"
	"time"
)

// Fault makes requests fail on demand. The first four fields select the requests, the others the failure; delays
// combine with any failure.
type Fault struct {
	Method string // empty: any
	Chat   int64  // 0: any
	Nth    int    // the first matching request that is hit, counted from 1 since the fault was set; 0 is 1
	Times  int    // how many in a row; 0 is 1, negative is all

	Delay       time.Duration // before anything is applied
	DelayAnswer time.Duration // after it was applied, before the answer
	Apply       bool          // with Drop or Status: apply first
	Drop        bool          // close the connection without an answer
	Half        bool          // apply, and close the connection in the middle of the answer
	Status      int           // answer with this status and Body
	Body        string        // empty: the HTML page of a proxy
	RetryAfter  int           // answer 429 with these seconds; the chat is held for that long
	ParseError  bool          // refuse the markup; hits only requests with a parse_mode
	Rich        bool          // hits only requests with a rich message
	Duplicate   bool          // each update of a getUpdates answer comes twice
}

// BadGatewayPage is what a proxy sends before a dead server.
const BadGatewayPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n" +
	"<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"

type armed struct {
	Fault
	seen int
}

// Fault sets f. Faults are tried in the order they were set; one request meets one at most.
func (s *Server) Fault(f Fault) {
	f.Nth, f.Apply = max(f.Nth, 1), f.Apply || f.Half
	if f.Times == 0 {
		f.Times = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &armed{Fault: f})
}

// ClearFaults forgets all faults.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// faultFor counts the request at every fault that it matches, and returns the first that is due.
func (s *Server) faultFor(c *call) (due Fault) {
	for _, a := range s.faults {
		if !a.matches(c) {
			continue
		}
		a.seen++
		hit := a.seen >= a.Nth && (a.Times < 0 || a.seen < a.Nth+a.Times)
		if hit && due == (Fault{}) {
			due = a.Fault
			c.log.Fault = due.name()
		}
	}
	return due
}

func (a *armed) matches(c *call) bool {
	return (!a.Rich || c.params["rich_message"] != "") && (a.Method == "" || strings.EqualFold(a.Method, c.name)) &&
		(a.Chat == 0 || a.Chat == c.log.Chat) &&
		(!a.ParseError || c.params["parse_mode"] != "")
}

// spoils reports whether the client gets a response other than the server's.
func (f Fault) spoils() bool { return f.Drop || f.Half || f.Status != 0 || f.RetryAfter != 0 }

func (f Fault) name() string {
	switch {
	case f.Drop && f.Apply:
		return "applied, dropped"
	case f.Drop:
		return "dropped"
	case f.Half:
		return "half an answer"
	case f.RetryAfter != 0:
		return "429"
	case f.Status != 0:
		return http.StatusText(f.Status)
	case f.ParseError:
		return "parse error"
	case f.Duplicate:
		return "duplicate"
	}
	return "delay"
}

// spoil sends the fault's response; real is the server's own response if the request was applied. Without a fault it
// closes the connection.
func (s *Server) spoil(w http.ResponseWriter, c *call, f Fault, real response) {
	resp := response{status: f.Status, body: []byte(f.Body), kind: "text/html"}
	switch {
	case f.Half && real.body != nil:
		header(w, real)
		_, _ = w.Write(real.body[:len(real.body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // the documented way to cut the connection
	case f.RetryAfter != 0:
		resp = refusal(tooMany(f.RetryAfter))
		s.holdFor(c, time.Duration(f.RetryAfter)*time.Second)
	case f.Drop || f.Status == 0:
		s.ended(c, 0)
		panic(http.ErrAbortHandler)
	case f.Body == "":
		resp.body = []byte(BadGatewayPage)
	case strings.HasPrefix(strings.TrimSpace(f.Body), "{"):
		resp.kind = "application/json"
	}
	s.ended(c, resp.status)
	write(w, resp)
}

func (s *Server) ended(c *call, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.log.Ended, c.log.Status = time.Now(), status
}

func (s *Server) holdFor(c *call, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.log.RetryAfter = int(d / time.Second)
	if ch := s.chats[c.log.Chat]; ch != nil {
		ch.budget.holdFor(time.Now(), d)
	}
}

// twice repeats each element of a slice.
func twice(result any) any {
	list := reflect.ValueOf(result)
	if list.Kind() != reflect.Slice {
		return result
	}
	out := reflect.MakeSlice(list.Type(), 0, 2*list.Len())
	for i := range list.Len() {
		out = reflect.Append(out, list.Index(i), list.Index(i))
	}
	return out.Interface()
}
