package discordfake

import (
	"net/http"
	"time"
)

// SetLimit changes a route's limit, and forgets what all buckets have counted.
func (s *Server) SetLimit(route Route, limit Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rule := s.limits.rules[route]
	if rule.name == "" {
		rule.name = string(route)
	}
	rule.limit = limit
	s.limits.rules[route] = rule
	s.limits.windows = map[string]*window{}
}

// ShareBucket puts routes into one bucket: they show the same hash, and are
// counted together for each top-level id (DR-01).
func (s *Server) ShareBucket(name string, limit Limit, routes ...Route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, route := range routes {
		s.limits.rules[route] = bucketRule{name: name, limit: limit}
	}
	s.limits.windows = map[string]*window{}
}

// SwitchLimits turns all counting on or off. Holds that a fault has imposed
// stay.
func (s *Server) SwitchLimits(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits.off = !on
}

// SetInvalidLimit changes how many invalid requests lead to a ban (10,000 in
// ten minutes) and how long that lasts (an hour; Discord publishes no number).
func (s *Server) SetInvalidLimit(limit Limit, ban time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits.ban.limit, s.limits.ban.lasts = limit, ban
}

// Ban answers everything with an HTML 429 for d, as Cloudflare does (DR-05).
func (s *Server) Ban(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits.ban.until = time.Now().Add(d)
}

// InvalidRequests is how many answers were 401, 403 or a 429 that was not
// shared (DR-04), from the beginning.
func (s *Server) InvalidRequests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limits.ban.total
}

// Banned reports whether a ban is in force.
func (s *Server) Banned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limits.banned(time.Now())
}

// banCounter counts the invalid requests of the one address that all come from.
type banCounter struct {
	limit  Limit
	lasts  time.Duration
	until  time.Time
	window window
	total  int
}

func newBanCounter() banCounter {
	return banCounter{limit: Limit{10_000, 10 * time.Minute}, lasts: time.Hour}
}

func (l *limiter) banned(now time.Time) bool { return now.Before(l.ban.until) }

func (l *limiter) noteAnswer(out *reply, now time.Time) {
	switch out.status {
	case http.StatusUnauthorized, http.StatusForbidden:
	case http.StatusTooManyRequests:
		if out.shared {
			return
		}
	default:
		return
	}
	b := &l.ban
	b.total++
	if b.window.take(b.limit, now); b.window.used >= b.limit.Requests && !l.banned(now) {
		b.until, b.window = now.Add(b.lasts), window{}
	}
}

// htmlBan is what Cloudflare sends in Discord's place.
func htmlBan() *reply {
	const page = "<!DOCTYPE html><html><head><title>Access denied</title></head>" +
		"<body><h1>Error 1015</h1><p>You are being rate limited</p></body></html>\n"
	h := http.Header{"Content-Type": {"text/html; charset=UTF-8"}, "Server": {"cloudflare"}}
	return &reply{status: http.StatusTooManyRequests, header: h, body: []byte(page)}
}
