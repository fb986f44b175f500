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
	unnamedHold = time.Minute // after a refusal that names no time; it doubles (DR-05)
	mostUnnamed = time.Hour   //
	longestHold = 30 * 24 * time.Hour
)

// route is a kind of request, and the channel that it is counted for.
type route struct{ name, channel string }

func (r route) String() string { return r.name }

func (r route) answersPress() bool { return strings.HasPrefix(r.name, "POST /interactions/") }

// routeOf reads a route from a path such as "channels/1/messages/2?limit=3".
func routeOf(method, path string) (r route) {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	if parts[0] == "interactions" && len(parts) > 2 { // what follows the id is a secret, and another one each time
		parts[2] = "{token}"
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

// held is a refusal for now, by Discord or on its word.
type held struct {
	everything bool // not of one route in one channel alone
	after      time.Duration
}

func (h held) Error() string {
	return fmt.Sprintf("Discord asks to wait %v", h.after.Round(time.Millisecond))
}

// limits remembers what Discord said of its limits, so that nothing is sent that it would refuse (DR-01). Routes may
// share a bucket, each channel has its own.
type limits struct {
	mu      sync.Mutex
	shared  map[string]string // a route's bucket, as Discord calls it
	buckets map[bucket]window
	all     time.Time // nothing is sent before
	global  time.Time // nothing but answers to presses is, which Discord does not count (DR-02)
	unnamed int       // refusals in a row that named no time
}

type bucket struct{ name, channel string }

// window is what is left until it begins again.
type window struct {
	left  int
	until time.Time
}

func newLimits() *limits {
	return &limits{shared: map[string]string{}, buckets: map[bucket]window{}}
}

func (l *limits) bucket(r route) bucket {
	if name, ok := l.shared[r.name]; ok {
		return bucket{name, r.channel}
	}
	return bucket(r)
}

// enter counts a request, or says that it would be refused.
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

// window is what is known of a route now.
func (l *limits) window(r route, now time.Time) (w window, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok = l.buckets[l.bucket(r)]
	return w, ok && now.Before(w.until)
}

// learn reads what a reply says of its bucket.
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

// refused reads a 429. Where the address itself is banned it says nothing of limits, and often not when to come back
// (DR-05).
func (l *limits) refused(r route, x *exchange, now time.Time) error {
	var said struct {
		After  float64 `json:"retry_after"`
		Global bool    `json:"global"`
	}
	page := json.Unmarshal(x.body, &said) != nil
	// With scope "shared" only this is true, not what the bucket's headers say (DR-03).
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

// growing is a guess, with jitter.
func (l *limits) growing() time.Duration {
	d := min(unnamedHold<<min(l.unnamed, 10), mostUnnamed)
	l.unnamed++
	return d + rand.N(d/4)
}

func seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return duration(f)
}

// duration is f seconds, if that can be meant.
func duration(f float64) time.Duration {
	if !(f > 0) {
		return 0
	}
	return time.Duration(min(f, longestHold.Seconds()) * float64(time.Second))
}
