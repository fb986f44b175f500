package discordfake

import (
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Limit is how many requests one window takes. Windows start with their first
// request.
type Limit struct {
	Requests int
	Per      time.Duration
}

// Scope says whose limit a 429 is about (the X-RateLimit-Scope header).
type Scope string

// The scopes of a 429. Only shared ones are not the bot's own doing, and do
// not count as invalid requests (DR-04).
const (
	ScopeUser   Scope = "user"
	ScopeGlobal Scope = "global"
	ScopeShared Scope = "shared"
)

// limiter counts requests; guarded by the server's mutex.
type limiter struct {
	off     bool
	rules   map[Route]bucketRule
	windows map[string]*window // by bucket and top-level id
	holds   map[string]hold    // the same keys; "" is the global one
	global  Limit
	all     window
	ban     banCounter
}

type bucketRule struct {
	name  string
	limit Limit
}

type window struct {
	opened time.Time
	used   int
}

// hold is a 429 that stays in force until its time.
type hold struct {
	until time.Time
	scope Scope
}

// newLimiter has numbers like those seen in the wild; Discord publishes none
// but the global one.
func newLimiter() limiter {
	l := limiter{
		rules: map[Route]bucketRule{}, windows: map[string]*window{}, holds: map[string]hold{},
		global: Limit{50, time.Second}, ban: newBanCounter(),
	}
	for route, limit := range map[Route]Limit{
		GetGatewayBot: {2, 5 * time.Second},
		GetMe:         {30, 30 * time.Second},
		GetChannel:    {50, time.Second},
		GetMessages:   {5, 5 * time.Second},
		GetMessage:    {5, 5 * time.Second},
		CreateMessage: {5, 5 * time.Second},
		EditMessage:   {5, 5 * time.Second},
		DeleteMessage: {5, time.Second},
		StartTyping:   {5, 5 * time.Second},
		OpenDM:        {10, 10 * time.Second},
		GetGuild:      {5, 5 * time.Second},
		EditOriginal:  {5, 5 * time.Second},
		EditFollowUp:  {5, 5 * time.Second},
		PostFollowUp:  {5, 5 * time.Second},
		PutCommands:   {2, 20 * time.Second},
	} {
		l.rules[route] = bucketRule{name: string(route), limit: limit}
	}
	return l
}

// key names the window that a call is counted in.
func (l *limiter) key(c *call) string {
	top := c.params["channel_id"] + c.params["guild_id"] + c.params["webhook_token"]
	return l.rules[c.do.route].name + ":" + top
}

// tooMany is a 429 in the making.
type tooMany struct {
	scope Scope
	retry time.Duration
	held  bool // the client had been told to wait
}

// charge counts a call. It returns the headers of its bucket, or what it met.
func (l *limiter) charge(c *call, now time.Time) (http.Header, *tooMany) {
	if met := l.underHold(c, now); met != nil {
		return http.Header{}, met
	}
	if l.off || c.do.route == GetGateway { // which needs no token
		return http.Header{}, nil
	}
	if !c.do.route.free() && !l.all.take(l.global, now) { // "Interaction endpoints are not bound to the bot's Global Rate Limit"
		return http.Header{}, &tooMany{scope: ScopeGlobal, retry: l.all.left(l.global, now)}
	}
	rule, limited := l.rules[c.do.route]
	if !limited {
		return http.Header{}, nil
	}
	w := l.windows[l.key(c)]
	if w == nil {
		w = &window{}
		l.windows[l.key(c)] = w
	}
	ok := w.take(rule.limit, now)
	header := bucketHeader(rule, w, now)
	if !ok {
		return header, &tooMany{scope: ScopeUser, retry: w.left(rule.limit, now)}
	}
	return header, nil
}

func (l *limiter) underHold(c *call, now time.Time) *tooMany {
	for _, key := range []string{"", l.key(c)} {
		if h, ok := l.holds[key]; ok && now.Before(h.until) && (key != "" || !c.do.route.free()) {
			return &tooMany{scope: h.scope, retry: h.until.Sub(now), held: true}
		}
	}
	return nil
}

// impose starts a hold on the scope that a call belongs to.
func (l *limiter) impose(c *call, scope Scope, d time.Duration, now time.Time) {
	key := ""
	if scope != ScopeGlobal {
		key = l.key(c)
	}
	l.holds[key] = hold{until: now.Add(d), scope: scope}
}

func (w *window) take(limit Limit, now time.Time) bool {
	if now.Sub(w.opened) >= limit.Per {
		*w = window{opened: now}
	}
	if w.used >= limit.Requests {
		return false
	}
	w.used++
	return true
}

func (w *window) left(limit Limit, now time.Time) time.Duration {
	return w.opened.Add(limit.Per).Sub(now)
}

func bucketHeader(rule bucketRule, w *window, now time.Time) http.Header {
	reset := w.opened.Add(rule.limit.Per)
	h := http.Header{}
	setRateHeader(h, "Limit", strconv.Itoa(rule.limit.Requests))
	setRateHeader(h, "Remaining", strconv.Itoa(max(0, rule.limit.Requests-w.used)))
	setRateHeader(h, "Reset", fmt.Sprintf("%.3f", float64(reset.UnixMilli())/1000))
	setRateHeader(h, "Reset-After", fmt.Sprintf("%.3f", w.left(rule.limit, now).Seconds()))
	setRateHeader(h, "Bucket", bucketHash(rule.name))
	return h
}

// setRateHeader writes names in the form that net/http looks them up by; on
// the wire they are compared without case.
func setRateHeader(h http.Header, name, value string) { h.Set("X-RateLimit-"+name, value) }

func bucketHash(name string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name)) // a hash never fails
	return fmt.Sprintf("%016x", sum.Sum64())
}

// reply is the 429 on top of the bucket's headers. A global one has none of
// those, only Retry-After.
func (m *tooMany) reply(h http.Header) *reply {
	h.Set("Content-Type", "application/json")
	h.Set("Retry-After", strconv.Itoa(ceilSeconds(m.retry)))
	setRateHeader(h, "Scope", string(m.scope))
	if m.scope == ScopeGlobal {
		setRateHeader(h, "Global", "true")
	}
	body := encode(object{
		"message": "You are being rate limited.", "retry_after": m.retry.Seconds(), "global": m.scope == ScopeGlobal,
	})
	return &reply{status: http.StatusTooManyRequests, header: h, body: body, shared: m.scope == ScopeShared}
}

func ceilSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
