package redis

import (
	"context"
	"strconv"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// session is one connection that listens.
type session struct {
	pubsub *goredis.PubSub

	mu    sync.Mutex
	pings int
	pongs map[string]chan struct{} // by the ping's words: who waits for its return
}

func (s *session) subscribe(ctx context.Context, channels ...string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.pubsub.Subscribe(ctx, channels...)
}

// roundTrip returns when the server has done all that was written before. It fails if that takes longer than [limit].
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

func (s *session) expect() (words string, back <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pings++
	words = strconv.Itoa(s.pings)
	ch := make(chan struct{})
	s.pongs[words] = ch
	return words, ch
}

// pong wakes who waits for it, once.
func (s *session) pong(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ch, ok := s.pongs[words]; ok {
		close(ch)
		delete(s.pongs, words)
	}
}
