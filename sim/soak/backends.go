package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"sync/atomic"
	"time"

	"parley/backends/postgres/postgrestest"
)

const (
	redisEvery    = 30 * time.Second  // between two kills of Redis
	postgresEvery = 110 * time.Second // between two kills of PostgreSQL: five in ten minutes
	awayFor       = 2 * time.Second   // how long each is away
)

// backends are the servers that several gateways share. One gateway needs none.
type backends struct {
	postgres *postgrestest.Server
	redisAt  string
	redis    *exec.Cmd
	dir      string

	redisKills, postgresKills atomic.Int64
}

func newBackends(dir string) (*backends, error) {
	at, err := freePort()
	if err != nil {
		return nil, err
	}
	b := &backends{redisAt: at, dir: dir}
	if b.postgres, err = postgrestest.New(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return b, b.startRedis()
}

// config is what config.yaml says about them.
func (b *backends) config() string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("store: %q\nshared: redis://%s\n", b.postgres.URL(), b.redisAt)
}

// startRedis starts it empty.
func (b *backends) startRedis() error {
	host, port, err := net.SplitHostPort(b.redisAt)
	if err != nil {
		return fmt.Errorf("the address of Redis: %w", err)
	}
	b.redis = exec.Command("redis-server", "--bind", host, "--port", port, "--dir", b.dir, "--save", "", "--appendonly", "no")
	if err := b.redis.Start(); err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	return nil
}

func (b *backends) stopRedis() {
	_ = b.redis.Process.Kill() // it may have ended already
	_ = b.redis.Wait()         // it was killed
}

// outages kills the servers now and then until ctx is done, if that is wanted, and then tells what failed.
func (b *backends) outages(ctx context.Context, wanted bool) <-chan error {
	failed := make(chan error, 1)
	if b == nil || !wanted {
		failed <- nil
		return failed
	}
	go func() {
		redis, postgres := time.NewTicker(redisEvery), time.NewTicker(postgresEvery)
		defer redis.Stop()
		defer postgres.Stop()
		var err error
		for ctx.Err() == nil && err == nil {
			select {
			case <-ctx.Done():
			case <-redis.C:
				b.redisKills.Add(1)
				b.stopRedis()
				time.Sleep(awayFor)
				err = b.startRedis()
			case <-postgres.C:
				b.postgresKills.Add(1)
				b.postgres.Kill()
				time.Sleep(awayFor)
				err = b.postgres.Resume()
			}
		}
		failed <- err
	}()
	return failed
}

func (b *backends) close() {
	if b != nil {
		b.stopRedis()
		b.postgres.Stop()
	}
}

// proxy stands before the gateways like a load balancer: each connection goes to the next one that accepts it.
type proxy struct {
	to   []string
	next atomic.Uint64
}

// dial connects to one of the gateways, whatever the address.
func (p *proxy) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var failed error
	for range p.to {
		at := p.to[p.next.Add(1)%uint64(len(p.to))]
		conn, err := new(net.Dialer).DialContext(ctx, network, at)
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}
