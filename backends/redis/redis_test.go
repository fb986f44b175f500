package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/backends/redis/redistest"
	"parley/internal/require"
)

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name, url string
		o         Options
	}{
		{"no URL", "", Options{}},
		{"another scheme", "http://u:hunter2@host", Options{}},
		{"a password that is not encoded", "redis://u:hun/ter2@host:6379", Options{}},
		{"a bad escape", "redis://u:hunter2%zz@host:6379", Options{}},
		{"an unknown setting", "redis://u:hunter2@host?colour=hunter2", Options{}},
		{"a database that is no number", "redis://u:hunter2@host/hunter2", Options{}},
		{"marks that die before a run", "redis://u:hunter2@host", Options{TTL: time.Hour}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := Open(tt.url, tt.o)
			if err == nil {
				_ = b.Close()
				t.Fatal("Open succeeded; want an error")
			}
			if strings.Contains(err.Error(), "hun") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

// The password opens the door and is never named; a wrong one is an error that Ping tells.
func TestPassword(t *testing.T) {
	s := redistest.Start(t, "--requirepass", "hunter2")
	good := open(t, "redis://:hunter2@"+s.Addr, Options{})
	require.NoError(t, good.Ping(t.Context()))
	bad := open(t, "redis://:hunter3@"+s.Addr, Options{})
	for name, call := range map[string]func(context.Context) error{"ping": bad.Ping, "join": bad.Join} {
		if err := call(t.Context()); !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s with a wrong password: %v", name, err)
		}
	}
}

// Every socket comes through Dial, and rediss:// puts TLS on top of it.
func TestTLSOverDial(t *testing.T) {
	s := redistest.Start(t)
	front := httptest.NewUnstartedServer(nil)
	front.StartTLS()
	certificate := front.TLS.Certificates[0]
	front.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	require.NoError(t, err)
	defer l.Close()
	go forward(l, s.Addr)
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != "redis.test:6380" {
			return nil, errors.New("unexpected address " + addr)
		}
		return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
	}
	b := open(t, "rediss://redis.test:6380?skip_verify=true", Options{Dial: dial})
	require.NoError(t, b.Ping(t.Context()))
	distrusts := open(t, "rediss://redis.test:6380", Options{Dial: dial})
	for range 20 { // on a busy machine the handshake can take longer than a call, which Join tolerates
		if err = distrusts.Join(t.Context()); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrRefused) {
		t.Errorf("with a certificate of an unknown authority: %v", err)
	}
}

func forward(l net.Listener, to string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			_ = in.Close()
			continue
		}
		go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
		go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
	}
}

// Rooms without watchers or claims cost Redis no subscription and the process no entry.
func TestNothingIsLeft(t *testing.T) {
	s := redistest.Start(t)
	b := open(t, s.URL(), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	for range 3 {
		ch := require.Value(b.Bus().Subscribe(ctx, "room"))(t)
		defer func() {
			for range ch { // closed, soon
			}
		}()
	}
	c := rawClient(t, s)
	channel := b.bus.at.framesChannel("room")
	if n := c.PubSubNumSub(t.Context(), channel).Val()[channel]; n != 1 {
		t.Errorf("%d subscriptions of one process; want 1", n)
	}
	cancel()
	eventually(t, "unsubscribe", func(ctx context.Context) error {
		if n := c.PubSubNumSub(ctx, channel).Val()[channel]; n != 0 {
			return errors.New("still subscribed")
		}
		return nil
	})
	b.bus.listener.mu.Lock()
	defer b.bus.listener.mu.Unlock()
	if len(b.bus.listener.readers) != 0 {
		t.Errorf("readers: %v; want none", b.bus.listener.readers)
	}
}

func TestClosed(t *testing.T) {
	s := redistest.Start(t)
	b := require.Value(Open(s.URL(), Options{}))(t)
	require.NoError(t, b.Close())
	if err := within(t, "ping", func() error { return b.Ping(t.Context()) }); err == nil {
		t.Error("a closed backend answers")
	}
	if err := within(t, "subscribe", func() error { _, err := b.Bus().Subscribe(t.Context(), "room"); return err }); err == nil {
		t.Error("a closed backend subscribes")
	}
}
