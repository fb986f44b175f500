package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// dialer has the signature of net.Dialer.DialContext.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

var errURL = errors.New("redis: the URL is invalid; use redis://[user:password@]host[:port][/db], " +
	"redis+sentinel://[user:password@]host[:port][/db]?master_name=NAME or redis+cluster://[user:password@]host[:port], " +
	"rediss in place of redis for TLS, and &addr=host:port for each further node; the password is percent-encoded")

// connect returns a client for the servers of a URL, without connecting. Callers wait for limit at most, so timeouts
// and retries in the URL are ignored.
func connect(url string, dial dialer) (goredis.UniversalClient, error) {
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	scheme, rest, _ := strings.Cut(url, "://")
	transport, kind, _ := strings.Cut(scheme, "+")
	// Two attempts fit into limit. The disabled features send commands of their own on each connection, which
	// compatible servers may not have.
	o := goredis.UniversalOptions{
		DialTimeout: limit / 2, ReadTimeout: limit / 2, WriteTimeout: limit / 2, PoolTimeout: limit,
		DialerRetries: 1, ContextTimeoutEnabled: true, PipelinePoolSize: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	var err error // it contains the URL, which can hold a password, so it is not returned
	switch kind {
	case "":
		err = single(&o, url)
	case "sentinel":
		err = sentinel(&o, transport+"://"+rest)
	case "cluster":
		err = cluster(&o, transport+"://"+rest)
	default:
		err = errURL
	}
	if err != nil {
		return nil, errURL
	}
	o.Dialer = secured(dial, o.TLSConfig)
	return goredis.NewUniversalClient(&o), nil
}

// single fills o for one server.
func single(o *goredis.UniversalOptions, url string) error {
	u, err := goredis.ParseURL(url)
	if err != nil {
		return err
	}
	o.Addrs, o.DB = []string{u.Addr}, u.DB
	o.Username, o.Password, o.TLSConfig, o.Protocol = u.Username, u.Password, u.TLSConfig, u.Protocol
	o.ClientName, o.PoolSize = u.ClientName, u.PoolSize
	o.MaxRetries = 1 // all scripts may run twice, and the bus may repeat
	return nil
}

// sentinel fills o for the master that the sentinels of the URL name. They and the master have the same user and
// password, unless the URL has others for the master.
func sentinel(o *goredis.UniversalOptions, url string) error {
	u, err := goredis.ParseFailoverURL(url)
	if err != nil || u.MasterName == "" {
		return errURL
	}
	o.Addrs, o.MasterName, o.DB = u.SentinelAddrs, u.MasterName, u.DB
	o.SentinelUsername, o.SentinelPassword = u.SentinelUsername, u.SentinelPassword
	o.Username, o.Password = u.SentinelUsername, u.SentinelPassword
	if u.Password != "" { // of the master, where it differs
		o.Username, o.Password = u.Username, u.Password
	}
	o.TLSConfig, o.Protocol, o.ClientName, o.PoolSize = u.TLSConfig, u.Protocol, u.ClientName, u.PoolSize
	o.MaxRetries = 1
	return nil
}

// cluster fills o for a cluster. Redirects to other nodes are retries there, so their number is left at its default.
func cluster(o *goredis.UniversalOptions, url string) error {
	u, err := goredis.ParseClusterURL(url)
	if err != nil {
		return err
	}
	o.IsClusterMode, o.Addrs = true, u.Addrs
	o.Username, o.Password, o.TLSConfig, o.Protocol = u.Username, u.Password, u.TLSConfig, u.Protocol
	o.ClientName, o.PoolSize = u.ClientName, u.PoolSize
	return nil
}

// secured returns dial with TLS if there is a configuration. The library does that only with its own dialer.
func secured(dial dialer, config *tls.Config) dialer {
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
			_ = plain.Close() // the handshake has closed it if it ended by ctx
			return nil, fmt.Errorf("TLS with %s: %w", addr, err)
		}
		return conn, nil
	}
}
