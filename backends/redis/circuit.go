package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/internal/rest"

	goredis "github.com/redis/go-redis/v9"
)

// probeEvery is the pause between two pings of a server that doesn't respond.
const probeEvery = 250 * time.Millisecond

// circuit is a circuit breaker for commands. An answer takes several of them, one after the other, so without it each message would wait
// several times for a server that is away. After a call without a response all further ones fail at once, until a ping in the background
// is answered.
type circuit struct {
	client  goredis.UniversalClient
	tripped chan struct{}       // wakes watch; room for one
	observe func(time.Duration) // see [Options.Observe]; may be nil

	mu   sync.Mutex
	away error // why calls fail at once; guarded by mu
}

func newCircuit(client goredis.UniversalClient) *circuit {
	return &circuit{client: client, tripped: make(chan struct{}, 1)}
}

// do makes a call, for at most limit, or returns an error at once if Redis did not respond a moment ago.
func (c *circuit) do(ctx context.Context, call func(ctx context.Context) error) error {
	if err := c.err(); err != nil {
		return err
	}
	began := time.Now()
	err := attempt(ctx, call)
	if c.observe != nil {
		c.observe(time.Since(began))
	}
	var reply goredis.Error
	if err != nil && !errors.As(err, &reply) && !errors.Is(ctx.Err(), context.Canceled) {
		c.trip(err)
	}
	return err
}

// err returns why calls fail at once; nil if they don't.
func (c *circuit) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.away
}

// trip makes calls fail from now on. The cause is quoted, not wrapped: it can be the end of another call's context.
func (c *circuit) trip(cause error) {
	c.mu.Lock()
	if c.away == nil {
		c.away = fmt.Errorf("no response a moment ago: %v", cause)
	}
	c.mu.Unlock()
	select {
	case c.tripped <- struct{}{}:
	default: // watch is already asked to ping
	}
}

// watch lets calls through again as soon as a ping is answered, and then calls closed. It returns when ctx is done.
func (c *circuit) watch(ctx context.Context, closed func()) {
	for {
		select {
		case <-c.tripped:
		case <-ctx.Done():
			return
		}
		for c.ping(ctx) != nil {
			if rest.For(ctx, probeEvery) != nil {
				return
			}
		}
		c.mu.Lock()
		c.away = nil
		c.mu.Unlock()
		closed()
	}
}

// ping returns an error if Redis doesn't respond within limit, whatever happened before.
func (c *circuit) ping(ctx context.Context) error {
	return attempt(ctx, func(ctx context.Context) error { return c.client.Ping(ctx).Err() })
}

// attempt makes a call, for at most limit.
func attempt(ctx context.Context, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return call(ctx)
}
