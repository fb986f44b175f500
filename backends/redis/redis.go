// Package redis shares turns, live answers and budgets between the replicas of a gateway through Redis (7.0 or later,
// or a compatible server): one server, a master behind Sentinel, or a cluster.
//
//   - [Tracker] tells replicas which turn of a room is the latest, so that earlier ones are canceled at once.
//   - [Bus] carries the changes of answers to readers of other replicas.
//   - [Ledger] counts the requests of all replicas to a platform against its limits.
//
// No data in it is essential: Redis can be unreachable, or lose everything, at any time. Claims then apply to their own
// replica, each replica uses its share of the budgets, and once Redis is back, current claims and holds are published
// again. Data that must survive is in the SQL store. Every call returns within a second, and after one without a
// response further ones fail at once until Redis is back, so a message never waits long for Redis.
//
// State changes are Lua scripts, which Redis runs without interleaving. A request whose reply was lost can be repeated:
// marks only rise, and a booking counts once under its id.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"parley/backends/inmem"
)

// limit is the maximum duration of a call, whatever state Redis is in.
const limit = time.Second

// Options identify the gateways that belong together. All fields are optional.
type Options struct {
	// Dial opens connections; default is the dialer of package net. TLS is added if the URL requires it. Tests use it
	// to cut connections.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Name is the name of the gateways that belong together; Store is the id of the store that they share. Keys and
	// channels begin with both, so gateways with different stores never see each other's turns.
	Name, Store string
	// TTL is the lifetime of a room's marks after their last use; default and minimum [inmem.Remembered].
	TTL time.Duration
	// Log receives events when Redis becomes unreachable or reachable; nil disables logging.
	Log *slog.Logger
	// Observe, if set, is called after each command with its duration.
	Observe func(took time.Duration)

	check time.Duration // tests: how often claims are checked against Redis; 0 for checkEvery
}

// Backend is one replica's connection to Redis: a pool for commands, and one connection for subscriptions. It owns five
// goroutines, from [Open] to [Backend.Close]. It is safe for concurrent use.
type Backend struct {
	client   goredis.UniversalClient
	circuit  *circuit
	log      *slog.Logger
	name     *name
	tracker  *Tracker
	listener *listener
	bus      *Bus
	ledger   *Ledger
	quit     context.CancelCauseFunc
	running  sync.WaitGroup
}

// Tracker returns the turn tracker shared with the replicas that use the same server and prefix.
func (b *Backend) Tracker() *Tracker { return b.tracker }

// Bus returns the bus shared with the replicas that use the same server and prefix.
func (b *Backend) Bus() *Bus { return b.bus }

// Join takes [Options.Name] for [Options.Store], and returns [ErrNameTaken] if gateways with another store have it, or
// [ErrRefused]. If Redis can't be reached it returns nil, because the gateway must start without Redis too: the name is
// taken later, and a conflict is logged.
func (b *Backend) Join(ctx context.Context) error {
	switch err := b.Ping(ctx); {
	case errors.Is(err, ErrRefused):
		return err
	case err != nil:
		return nil
	}
	if err := b.name.take(ctx); errors.Is(err, ErrNameTaken) {
		return err
	}
	return nil
}

// Ping returns an error if Redis doesn't respond within a second, and [ErrRefused] if it does and won't.
func (b *Backend) Ping(ctx context.Context) error {
	err := b.circuit.ping(ctx)
	switch {
	case err == nil:
		return nil
	case refused(err):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return fmt.Errorf("redis: ping: %w", err)
}

// Unreachable reports whether Redis did not answer in time when it was last needed, which is at most [quietFor] and [limit] ago. It does
// not wait. Each kind of use counts for itself: a server that is slow can still answer the pings of the connection that listens, which
// may take longer than the replies to commands.
func (b *Backend) Unreachable() bool {
	_, shared := b.ledger.Replicas()
	return b.listener.down.Load() || b.tracker.down.Load() || !shared
}

// Close ends the background work and waits for it, then closes all connections. Claims and subscriptions end with their
// own contexts, but receive nothing from other replicas any more. An error means that connections were not closed
// properly.
func (b *Backend) Close() error {
	b.quit(errClosed)
	b.running.Wait()
	if err := b.client.Close(); err != nil {
		return fmt.Errorf("redis: close: %w", err)
	}
	return nil
}

var errClosed = errors.New("redis: closed")

// Open starts to connect in the background and returns immediately: Redis need not be running yet. An error means that
// the URL or the options are invalid; it doesn't contain the URL, which can hold a password. URLs are
// redis://[user:password@]host[:port][/db] for one server, redis+sentinel://[user:password@]host[:port][/db]?master_name=NAME
// for servers behind Sentinel, and redis+cluster://[user:password@]host[:port] for a cluster; further nodes follow as
// addr=host:port, and rediss in place of redis means TLS.
func Open(url string, o Options) (*Backend, error) {
	if o.TTL == 0 {
		o.TTL = inmem.Remembered
	}
	if o.TTL < inmem.Remembered {
		return nil, fmt.Errorf("redis: marks kept for %v may expire before their run ends; use at least %v", o.TTL, inmem.Remembered)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	logging.Disable() // the library's own log, on stderr; callers report errors
	client, err := connect(url, o.Dial)
	if err != nil {
		return nil, err
	}
	at := layout{o.prefix(), o.TTL}
	breaker := newCircuit(client)
	breaker.observe = o.Observe
	tracker := newTracker(breaker, at, o.Log)
	if o.check > 0 {
		tracker.every = o.check
	}
	listener := newListener(breaker, at, tracker, o.Log)
	ctx, quit := context.WithCancelCause(context.Background())
	b := &Backend{
		client: client, circuit: breaker, log: o.Log, name: newName(client, o), quit: quit,
		tracker: tracker, listener: listener, bus: &Bus{breaker, at, listener}, ledger: newLedger(breaker, at, o.Log),
	}
	b.running.Go(func() {
		breaker.watch(ctx, func() {
			tracker.checkSoon()
			b.ledger.checkSoon()
		})
	})
	b.running.Go(func() { tracker.keep(ctx) })
	b.running.Go(func() { listener.run(ctx) })
	b.running.Go(func() { b.ledger.keep(ctx) })
	b.running.Go(func() { b.keepName(ctx) })
	return b, nil
}

// ErrRefused means that the server is there and does not accept the connection, for a reason that doesn't pass by itself.
var ErrRefused = errors.New("redis: the connection is refused; check the user, the password and their rights, and with rediss:// the certificate")

// refused reports whether err lasts until someone changes the configuration, of the gateway or of the server.
func refused(err error) bool {
	for _, prefix := range []string{"WRONGPASS", "NOAUTH", "NOPERM"} {
		if goredis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate)
}
