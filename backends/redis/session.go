package redis

import (
	"context"
	"strconv"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// session is one connection for subscriptions. Several goroutines may write to it; the one in listener.session reads.
type session struct {
	pubsub *goredis.PubSub

	// mu guards the fields below.
	mu    sync.Mutex
	pings int                      // the number of pings, which are numbered so that replies can be told apart
	pongs map[string]chan struct{} // by the text of the ping: closed when its reply has come
}

// subscribe sends a subscription. The server's confirmation is not awaited, see roundTrip.
func (s *session) subscribe(ctx context.Context, channels ...string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.pubsub.Subscribe(ctx, channels...)
}

// roundTrip sends a ping and waits for its reply. When it returns nil, the server has handled all that was sent before.
// It returns an error if that takes longer than limit.
func (s *session) roundTrip(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	words, back := s.expect()
	defer s.pong(words)
	if err := s.pubsub.Ping(ctx, words); err != nil {
		return err
	}
	select {
	case <-back:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// expect registers a new ping.
func (s *session) expect() (words string, back <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pings++
	words = strconv.Itoa(s.pings)
	ch := make(chan struct{})
	s.pongs[words] = ch
	return words, ch
}

// pong wakes the roundTrip that waits for this reply, and forgets it. It may be called again.
func (s *session) pong(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ch, ok := s.pongs[words]; ok {
		close(ch)
		delete(s.pongs, words)
	}
}
