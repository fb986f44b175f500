// Package redis lets several replicas of a gateway share turns, live answers and budgets through a Redis server (7.0 or
// later, or what speaks its protocol). Nothing in it is ever needed again: Redis may be out of reach or lose all it
// knows. Then claims count on their own replica, each takes its share of the budgets, and what is held is told again
// once Redis is back.
package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"parley/backends/inmem"
)

// limit is how long a call may take, whatever state Redis is in.
const limit = time.Second

// Options may all be left out.
type Options struct {
	// Dial opens connections; the dialer of package net if nil. TLS is put on top where the URL asks for it.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Prefix of all keys and channels; "parley:" if empty.
	Prefix string
	// TTL is how long a room's marks outlive their last use; [inmem.Remembered] if 0, and not less.
	TTL time.Duration
	// Log hears when Redis goes out of reach and comes back; silent if nil.
	Log *slog.Logger
}

// Backend is one replica's connection to Redis: a pool for commands, and one connection that listens.
type Backend struct {
	client  *goredis.Client
	tracker *Tracker
	bus     *Bus
	ledger  *Ledger
	quit    context.CancelCauseFunc
	running sync.WaitGroup
}

var errClosed = errors.New("redis: closed")

// Open starts to listen and returns at once: Redis need not be there yet. An error means that the URL or the options
// can't be right; it doesn't repeat the URL, which may hold a password. URLs are redis://[user:password@]host[:port][/db],
// rediss:// for TLS.
func Open(url string, o Options) (*Backend, error) {
	settings, err := connection(url, o.Dial)
	if err != nil {
		return nil, err
	}
	if o.Prefix == "" {
		o.Prefix = "parley:"
	}
	if o.TTL == 0 {
		o.TTL = inmem.Remembered
	}
	if o.TTL < inmem.Remembered {
		return nil, fmt.Errorf("redis: marks kept for %v may expire before their run ends; use at least %v", o.TTL, inmem.Remembered)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	client := goredis.NewClient(settings)
	at := layout{o.Prefix, o.TTL}
	tracker := newTracker(client, at, o.Log)
	ear := newListener(client, at, tracker, o.Log)
	ctx, quit := context.WithCancelCause(context.Background())
	b := &Backend{client: client, tracker: tracker, bus: &Bus{client, at, ear}, ledger: newLedger(client, at, o.Log), quit: quit}
	b.running.Go(func() { tracker.keep(ctx) })
	b.running.Go(func() { ear.run(ctx) })
	b.running.Go(func() { b.ledger.keep(ctx) })
	return b, nil
}

// Tracker shares turns with the replicas that use the same server and prefix.
func (b *Backend) Tracker() *Tracker { return b.tracker }

// Bus shares frames with the replicas that use the same server and prefix.
func (b *Backend) Bus() *Bus { return b.bus }

// Ping says whether Redis answers, within a second.
func (b *Backend) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := b.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis: ping: %w", err)
	}
	return nil
}

// Close ends all connections and waits for what runs in the background. Claims and subscriptions end with their own
// contexts; from now on they hear nothing from elsewhere.
func (b *Backend) Close() error {
	b.quit(errClosed)
	b.running.Wait()
	if err := b.client.Close(); err != nil {
		return fmt.Errorf("redis: close: %w", err)
	}
	return nil
}
