package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

var errURL = errors.New("redis: the URL is invalid; use redis://[user:password@]host[:port][/db], " +
	"rediss:// for TLS, with the password percent-encoded")

// connection is how we talk to the server. What the URL says of timeouts and retries is overruled: callers wait for
// no more than [limit].
func connection(url string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (*goredis.Options, error) {
	o, err := goredis.ParseURL(url)
	if err != nil {
		return nil, errURL // err repeats the URL
	}
	o.DialTimeout = limit / 2
	o.ReadTimeout = limit / 2
	o.WriteTimeout = limit / 2
	o.PoolTimeout = limit
	o.DialerRetries = 1
	o.MaxRetries = 1 // all scripts may run twice, and the bus may repeat
	o.ContextTimeoutEnabled = true
	o.PipelinePoolSize = -1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	o.Dialer = secured(dial, o.TLSConfig)
	return o, nil
}

// secured adds TLS to dial if there is a configuration: the library leaves TLS to custom dialers.
func secured(dial func(ctx context.Context, network, addr string) (net.Conn, error), config *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	if config == nil {
		return dial
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		plain, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		conn := tls.Client(plain, config)
		if err := conn.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("TLS with %s: %w", addr, err), plain.Close())
		}
		return conn, nil
	}
}
