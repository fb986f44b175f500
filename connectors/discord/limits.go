package discord

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	mostBuckets = 4096
	// unnamedHold is the pause after a rate limit that states no time. Discord sends such limits to a banned IP
	// address. It doubles with each one, up to mostUnnamed.
	unnamedHold = time.Minute
	mostUnnamed = time.Hour //
	// longestHold bounds times that Discord states, so that a nonsensical one can't overflow.
	longestHold = 30 * 24 * time.Hour
)

// route is a kind of request, and the channel that Discord counts it for. Discord's limits apply to the method and the
// path without ids, except for the ids of channels, servers and webhooks ("top-level resources"). Of those, only
// channels occur here, and the tokens of interactions, which stand for a webhook: they are secrets.
type route struct{ name, channel string }

// String returns the route without ids and secrets, for errors.
func (r route) String() string { return r.name }

// answersPress reports whether r responds to an interaction. Discord doesn't count those toward its global limit.
func (r route) answersPress() bool {
	return strings.HasPrefix(r.name, "POST /interactions/") || strings.Contains(r.name, " /webhooks/")
}

// routeOf derives a route from a path such as "channels/1/messages/2?limit=3".
func routeOf(method, path string) (r route) {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	if parts[0] == "interactions" && len(parts) > 2 { // the part after the id is a secret that differs each time
		parts[2] = "{token}"
	}
	if parts[0] == "webhooks" && len(parts) > 2 {
		r.channel, parts[2] = parts[2], "{token}"
	}
	for i, p := range parts {
		if _, err := strconv.ParseUint(p, 10, 64); err != nil {
			continue
		}
		if i > 0 && parts[i-1] == "channels" {
			r.channel = p
		}
		parts[i] = "{id}"
	}
	r.name = method + " /" + strings.Join(parts, "/")
	return r
}

// held is a rate limit, reported by Discord or predicted from its headers. A request that fails with it had no effect.
type held struct {
	everything bool // not only one route in one channel
	after      time.Duration
}

func (h held) Error() string {
	return fmt.Sprintf("Discord asks to wait %v", h.after.Round(time.Millisecond))
}

// limits tracks Discord's rate limits, so that no request is sent that Discord would refuse: 10,000 refused requests in
// ten minutes ban the IP address. Several routes can share a bucket, which Discord names in its responses; each channel
// has its own instance. It is safe for concurrent use.
type limits struct {
	mu      sync.Mutex
	shared  map[string]string // Discord's bucket id by route
	buckets map[bucket]window
	all     time.Time // no request is sent before
	global  time.Time // only answers to presses are, because Discord does not count those
	unnamed int       // consecutive rate limits without a time
}

// bucket identifies what Discord counts together. Its name is the one that Discord gave, or the route until that is
// known.
type bucket struct{ name, channel string }

// window is the remaining part of a rate limit window.
type window struct {
	left  int
	until time.Time
}

func newLimits() *limits {
	return &limits{shared: map[string]string{}, buckets: map[bucket]window{}}
}

// bucket requires the lock.
func (l *limits) bucket(r route) bucket {
	if name, ok := l.shared[r.name]; ok {
		return bucket{name, r.channel}
	}
	return bucket(r)
}

// enter counts a request, or returns a [held] if Discord would refuse it. A bucket about which nothing is known lets it
// pass: the response will tell.
func (l *limits) enter(r route, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := l.all
	if !r.answersPress() && l.global.After(until) {
		until = l.global
	}
	if now.Before(until) {
		return held{everything: true, after: until.Sub(now)}
	}
	b := l.bucket(r)
	w, ok := l.buckets[b]
	switch {
	case !ok || !now.Before(w.until):
		return nil
	case w.left <= 0:
		return held{after: w.until.Sub(now)}
	}
	w.left--
	l.buckets[b] = w
	return nil
}

// window returns the known state of a route's bucket.
func (l *limits) window(r route, now time.Time) (w window, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok = l.buckets[l.bucket(r)]
	return w, ok && now.Before(w.until)
}

// learn reads a response's rate limit headers, of successes as well as refusals. A response without plausible ones
// changes nothing.
func (l *limits) learn(r route, h http.Header, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name := h.Get("X-RateLimit-Bucket"); name != "" {
		l.shared[r.name] = name
	}
	left, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	after := seconds(h.Get("X-RateLimit-Reset-After"))
	if err != nil || after <= 0 {
		return
	}
	l.unnamed = 0
	l.set(l.bucket(r), window{left, now.Add(after)}, now)
}

// set requires the lock. If there are too many buckets it removes those whose window is over, which mean nothing any
// more.
func (l *limits) set(b bucket, w window, now time.Time) {
	if len(l.buckets) >= mostBuckets {
		for old, w := range l.buckets {
			if !now.Before(w.until) {
				delete(l.buckets, old)
			}
		}
	}
	l.buckets[b] = w
}

// refused handles a 429, which has three forms. A limit of a bucket holds that route in that channel. A global one (50
// requests a second) holds everything but responses to presses. And when the IP address is banned, Cloudflare answers
// with a page, no rate limit headers and often no time; then nothing at all may be sent.
func (l *limits) refused(r route, x *exchange, now time.Time) error {
	var said struct {
		After  float64 `json:"retry_after"`
		Global bool    `json:"global"`
	}
	page := json.Unmarshal(x.body, &said) != nil
	// With scope "shared" only this value is right, not the bucket's headers.
	after := max(duration(said.After), seconds(x.header.Get("Retry-After")))
	all := said.Global || x.header.Get("X-RateLimit-Global") != "" || x.header.Get("X-RateLimit-Scope") == "global"
	l.mu.Lock()
	defer l.mu.Unlock()
	hold := &l.global
	switch {
	case page, after <= 0:
		after = max(after, l.growing())
		hold = &l.all
	case !all:
		l.set(l.bucket(r), window{0, now.Add(after)}, now)
		return held{after: after}
	}
	if until := now.Add(after); until.After(*hold) {
		*hold = until
	}
	return held{everything: true, after: after}
}

// growing returns an exponential back-off with jitter. It requires the lock.
func (l *limits) growing() time.Duration {
	d := min(unnamedHold<<min(l.unnamed, 10), mostUnnamed)
	l.unnamed++
	return d + rand.N(d/4)
}

// seconds converts a header's value; 0 if there is none.
func seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return duration(f)
}

// duration converts f seconds, if the value is plausible. The form of the comparison excludes NaN too.
func duration(f float64) time.Duration {
	if !(f > 0) {
		return 0
	}
	return time.Duration(min(f, longestHold.Seconds()) * float64(time.Second))
}
