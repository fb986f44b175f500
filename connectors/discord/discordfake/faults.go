package discordfake

import (
	"net/http"
	"time"
)

// Match selects the requests that a fault affects. Empty fields match everything.
type Match struct {
	Route   Route
	Channel string
	Skip    int // matching requests that pass before the first is met
	Times   int // how many are met: 0 is one, a negative number all
}

// Fault is what happens to a request. The zero value does nothing; the
// functions of this file make the usual ones, and fields combine. A request
// meets only the first fault that was planned for it.
type Fault struct {
	Name        string        // shown in the log
	Delay       time.Duration // before it is applied; passes even if the client gives up
	DropBefore  bool          // the connection closes and nothing is applied
	Twice       bool          // applied twice; the first answer is sent
	DelayAnswer time.Duration // after it was applied
	DropAfter   bool          // applied, but the connection closes without an answer
	HalfBody    bool          // the connection closes in the middle of the answer
	SlowBody    time.Duration // how long the answer's body takes
	Answer      *Answer       // sent in place of the server's own
}

// Answer is a response made by a test.
type Answer struct {
	Status        int
	Header        http.Header
	Body          string
	AfterApplying bool // the request takes effect first

	hold  Scope // of a 429 that stays in force
	retry time.Duration
	code  int
}

// Delay applies the request d later.
func Delay(d time.Duration) Fault { return Fault{Name: "delay", Delay: d} }

// DelayAnswer applies the request at once and answers d later.
func DelayAnswer(d time.Duration) Fault { return Fault{Name: "delay answer", DelayAnswer: d} }

// DropBefore closes the connection and applies nothing.
func DropBefore() Fault { return Fault{Name: "drop before", DropBefore: true} }

// DropAfter applies the request and closes the connection without an answer.
func DropAfter() Fault { return Fault{Name: "drop after", DropAfter: true} }

// Twice applies the request twice, as if the network had repeated it.
func Twice() Fault { return Fault{Name: "twice", Twice: true} }

// HalfBody closes the connection in the middle of the answer.
func HalfBody() Fault { return Fault{Name: "half body", HalfBody: true} }

// SlowBody spreads the answer's body over d.
func SlowBody(d time.Duration) Fault { return Fault{Name: "slow body", SlowBody: d} }

// Respond answers without applying anything. header may be nil; the body is
// sent as it is.
func Respond(status int, header http.Header, body string) Fault {
	return Fault{Name: "respond", Answer: &Answer{Status: status, Header: header, Body: body}}
}

// RespondAfter applies the request, and answers this instead (a 502, say).
func RespondAfter(status int, header http.Header, body string) Fault {
	f := Respond(status, header, body)
	f.Name, f.Answer.AfterApplying = "respond after", true
	return f
}

// ErrorCode refuses with one of Discord's error codes, such as 200000.
func ErrorCode(status, code int, message string) Fault {
	header := http.Header{"Content-Type": {"application/json"}}
	f := Respond(status, header, string(encode(object{"message": message, "code": code})))
	f.Name, f.Answer.code = "error code", code
	return f
}

// TooManyRequests answers 429 for a scope. Until retryAfter has passed, every
// request to that scope (the request's bucket, or all) is refused as well, and
// the log marks those with DuringHold. A shared one shows Remaining > 0 and a
// short Reset-After, which must not be believed (DR-03).
func TooManyRequests(scope Scope, retryAfter time.Duration) Fault {
	return Fault{Name: "429 " + string(scope), Answer: &Answer{Status: http.StatusTooManyRequests, hold: scope, retry: retryAfter}}
}

// HTMLLimit answers with Cloudflare's page 1015 (DR-05). For a ban that stays,
// see [Server.Ban].
func HTMLLimit() Fault {
	page := htmlBan()
	f := Respond(page.status, page.header, string(page.body))
	f.Name = "429 HTML"
	return f
}

// HeaderlessLimit answers 429 with {"code":0} and nothing that says when to
// come back (DR-05).
func HeaderlessLimit() Fault {
	f := Respond(http.StatusTooManyRequests, http.Header{"Content-Type": {"application/json"}}, `{"message":"","code":0}`)
	f.Name = "429 headerless"
	return f
}

// LongGatewayHold is the answer that /gateway/bot was seen to give after too
// many identifies: 429 with 82,721 seconds to wait (DR-05). Plan it for
// [GetGatewayBot].
func LongGatewayHold() Fault {
	f := TooManyRequests(ScopeUser, 82_721*time.Second)
	f.Name = "429 gateway"
	return f
}

// Fault plans a fault for requests to come.
func (s *Server) Fault(m Match, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Times == 0 {
		m.Times = 1
	}
	s.faults = append(s.faults, &plannedFault{match: m, fault: f})
}

// ClearFaults forgets all that is planned and lifts every hold and ban.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
	s.limits.holds = map[string]hold{}
	s.limits.ban.until = time.Time{}
}

type plannedFault struct {
	match Match
	fault Fault
}

type faultPlan []*plannedFault

// take returns the first fault due for a request. Every plan that matches
// counts it, so that Skip is about requests and not about other plans.
func (plan faultPlan) take(r *Request) Fault {
	var due Fault
	taken := false
	for _, p := range plan {
		switch {
		case p.match.Times == 0 || !p.match.picks(r):
		case p.match.Skip > 0:
			p.match.Skip--
		case !taken:
			due, taken = p.fault, true
			if p.match.Times > 0 {
				p.match.Times--
			}
		}
	}
	return due
}

func (m Match) picks(r *Request) bool {
	return (m.Route == "" || m.Route == r.Route) && (m.Channel == "" || m.Channel == r.Channel)
}

// faultReply is a planned answer. A 429 that holds can only be about a route
// that exists.
func (s *Server) faultReply(c *call, applied bool, now time.Time) *reply {
	a := c.fault.Answer
	if a.hold == "" || c.do == nil {
		header := a.Header.Clone()
		if header == nil {
			header = http.Header{}
		}
		return &reply{status: a.Status, header: header, body: []byte(a.Body), code: a.code, applied: applied}
	}
	s.limits.impose(c, a.hold, a.retry, now)
	out := (&tooMany{scope: a.hold, retry: a.retry}).reply(s.limits.heldHeader(c, a, now))
	out.applied = applied
	return out
}

func (l *limiter) heldHeader(c *call, a *Answer, now time.Time) http.Header {
	rule := l.rules[c.do.route]
	switch a.hold {
	case ScopeGlobal:
		return http.Header{}
	case ScopeShared:
		return bucketHeader(bucketRule{rule.name, Limit{10, time.Second}}, &window{opened: now, used: 1}, now)
	}
	return bucketHeader(bucketRule{rule.name, Limit{5, a.retry}}, &window{opened: now, used: 5}, now)
}
