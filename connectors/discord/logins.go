package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"parley/connectors"
	"parley/internal/rest"
)

const (
	// loginGap is the time between two logins of a bucket. Discord allows one in five seconds, and answers an earlier one
	// with op 9.
	loginGap = 5500 * time.Millisecond
	// loginTime is how long a reservation lasts until its login is sent: longer than connecting can take.
	loginTime    = 3 * silentTime
	mostParallel = 1024
	// loginFresh is how long a reply about logins is used. Discord permits two such requests in five seconds.
	loginFresh = 5 * time.Second
	// loginQuiet is the shortest wait that is logged.
	loginQuiet = 30 * time.Second
	// Of this part of the day's logins none is used, because Discord resets the token of a bot that exceeds them.
	loginReserve = 100
)

// errNotYet means that Discord permits no login now; the queue knows until when.
var errNotYet = errors.New("Discord permits no login now")

// loginQueue spaces logins. Discord permits so many at a time (max_concurrency, one for most bots): shards with the same
// number modulo that are a bucket, and may log in one after the other, five seconds apart. That counts for all
// processes, so a login also needs the reservation of its bucket from [connectors.Shards.Hold]. It is safe for
// concurrent use.
type loginQueue struct {
	client *client
	shards *connectors.Shards
	log    *slog.Logger
	asking chan struct{} // holds a token during a request: others wait for its reply

	mu       sync.Mutex
	parallel int // max_concurrency, as of the last reply
	buckets  map[int]*loginBucket
	said     botInfo // the last reply, less the logins since
	asked    time.Time
	until    time.Time // no login before
	why      string    // the reason; empty while logins are permitted
	logged   bool      // the reason is in the log
}

// loginBucket is held by the login that holds the token in busy. Only that one uses next.
type loginBucket struct {
	busy chan struct{}
	next time.Time // the earliest next login of this process
}

func newLoginQueue(c *client, s *connectors.Shards, log *slog.Logger) *loginQueue {
	return &loginQueue{client: c, shards: s, log: log, asking: make(chan struct{}, 1), parallel: 1, buckets: map[int]*loginBucket{}}
}

// botInfo is Discord's reply about the logins of a bot.
type botInfo struct {
	URL    string `json:"url"`
	Shards int    `json:"shards"`
	Limit  struct {
		Total     int `json:"total"`
		Remaining int `json:"remaining"`
		After     int `json:"reset_after"` // milliseconds
		Parallel  int `json:"max_concurrency"`
	} `json:"session_start_limit"`
}

// spent reports whether the rest of the day's logins must not be used. A login in each bucket can be under way at the
// same time, after all of them have read the same number.
func (i botInfo) spent() bool {
	return i.Limit.Total > 0 && i.Limit.Remaining <= max(i.Limit.Parallel-1, i.Limit.Total/loginReserve)
}

// recommended returns the number of shards that Discord recommends now. It waits while Discord refuses to tell.
func (q *loginQueue) recommended(ctx context.Context) (int, error) {
	q.mu.Lock()
	q.asked = time.Time{}
	q.mu.Unlock()
	for {
		if err := q.wait(ctx); err != nil {
			return 0, err
		}
		said, err := q.ask(ctx)
		if err == nil {
			q.permit()
		}
		if !errors.Is(err, errNotYet) {
			return said.Shards, err
		}
	}
}

// enter waits until a shard may log in, however long that takes. The caller must call leave in the end.
func (q *loginQueue) enter(ctx context.Context, shard int) (*login, error) {
	for {
		if err := q.wait(ctx); err != nil {
			return nil, err
		}
		l, err := q.reserve(ctx, shard)
		if err != nil {
			return nil, err
		}
		said, err := q.ask(ctx)
		if err == nil && said.spent() {
			q.hold(time.Duration(said.Limit.After)*time.Millisecond, "today's logins are used up")
			err = errNotYet
		}
		if _, id := q.bucket(shard); err == nil && id == l.id {
			l.url = said.URL
			q.permit()
			return l, nil
		}
		l.leave(ctx)
		if err != nil && !errors.Is(err, errNotYet) {
			return nil, err
		}
	}
}

// login is the right to log in once.
type login struct {
	queue  *loginQueue
	bucket *loginBucket
	id     int
	url    string // where
	over   bool
}

// reserve waits for the shard's turn in its bucket.
func (q *loginQueue) reserve(ctx context.Context, shard int) (*login, error) {
	for {
		b, id := q.bucket(shard)
		select {
		case b.busy <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		// While it waited, another shard may have learned how many buckets there are.
		if now, _ := q.bucket(shard); now != b {
			<-b.busy
			continue
		}
		l := &login{queue: q, bucket: b, id: id}
		err := context.Cause(ctx)
		if rest.For(ctx, time.Until(b.next)) == nil {
			err = q.shards.Hold(ctx, l.name(), loginTime)
		}
		if err != nil {
			<-b.busy
			return nil, fmt.Errorf("wait for a login: %w", err)
		}
		return l, nil
	}
}

func (l *login) name() string { return "login/" + strconv.Itoa(l.id) }

// sent begins the pause after a login, here and for other processes.
func (l *login) sent(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	// If it fails, the next login of the bucket only comes later.
	_ = l.queue.shards.Hold(ctx, l.name(), loginGap)
	l.bucket.next = time.Now().Add(loginGap)
	l.queue.mu.Lock()
	l.queue.said.Limit.Remaining--
	l.queue.mu.Unlock()
	l.over = true
	<-l.bucket.busy
}

// leave gives the turn to another login, unless sent has done that.
func (l *login) leave(ctx context.Context) {
	if l.over {
		return
	}
	l.queue.shards.Release(ctx, l.name())
	l.over = true
	<-l.bucket.busy
}

// bucket returns the bucket of a shard, and its number.
func (q *loginQueue) bucket(shard int) (*loginBucket, int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	id := shard % q.parallel
	if q.buckets[id] == nil {
		q.buckets[id] = &loginBucket{busy: make(chan struct{}, 1)}
	}
	return q.buckets[id], id
}

// ask returns Discord's reply, which it requests unless there is a fresh one. While Discord refuses the request, that is
// remembered, and the error is errNotYet.
func (q *loginQueue) ask(ctx context.Context) (botInfo, error) {
	select {
	case q.asking <- struct{}{}:
		defer func() { <-q.asking }()
	case <-ctx.Done():
		return botInfo{}, context.Cause(ctx)
	}
	q.mu.Lock()
	said, fresh := q.said, time.Since(q.asked) < loginFresh
	q.mu.Unlock()
	if fresh {
		return said, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	said = botInfo{}
	var h held
	switch err := q.client.do(ctx, http.MethodGet, "gateway/bot", nil, &said); {
	case errors.As(err, &h):
		q.hold(h.after, "Discord rate-limits requests for the gateway URL")
		return said, errNotYet
	case err != nil:
		return said, fmt.Errorf("get the Discord gateway URL: %w", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.said, q.asked = said, time.Now()
	q.parallel = min(max(said.Limit.Parallel, 1), mostParallel)
	return said, nil
}

// hold forbids logins for a time. Only the first of several long holds in a row is logged.
func (q *loginQueue) hold(wait time.Duration, why string) {
	q.mu.Lock()
	log := !q.logged && wait >= loginQuiet
	q.logged = q.logged || log
	q.until, q.why = time.Now().Add(wait+time.Second), why
	q.mu.Unlock()
	if log {
		q.log.Error("the bot is not connected: "+why, "wait", wait)
	}
}

// permit ends a hold.
func (q *loginQueue) permit() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.until, q.why, q.logged = time.Time{}, "", false
}

// wait waits for the end of a hold.
func (q *loginQueue) wait(ctx context.Context) error {
	q.mu.Lock()
	until := q.until
	q.mu.Unlock()
	if rest.For(ctx, time.Until(until)) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// held returns until when logins are forbidden, and why; empty if they are permitted, or may be when it is asked again.
func (q *loginQueue) held() (until time.Time, why string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !time.Now().Before(q.until) {
		return time.Time{}, ""
	}
	return q.until, q.why
}
