package discord

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

// newSession returns a session of the library that has not logged in. It lives no longer than ctx: a library that tries
// to connect later can't.
func (g *gateway) newSession(ctx context.Context) *discordgo.Session {
	s := newLibrary(g.token)
	s.SyncEvents = true
	s.Compress = false
	s.Identify.Intents = g.intent
	s.Client = &http.Client{Transport: g}
	s.Dialer = &websocket.Dialer{
		HandshakeTimeout: tlsTime,
		NetDialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
			return g.dialWire(ctx, network, addr, false)
		},
		NetDialTLSContext: func(_ context.Context, network, addr string) (net.Conn, error) {
			return g.dialWire(ctx, network, addr, true)
		},
	}
	s.AddHandler(func(_ *discordgo.Session, e *discordgo.Event) { g.event(ctx, e.Type, e.RawData) })
	return s
}

// RoundTrip implements [http.RoundTripper] for the one question that the library asks when it connects, for the
// gateway's address. It does not know where sessions are to be resumed (DR-15), so that is answered here.
func (g *gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/api/v"+discordgo.APIVersion+"/gateway" {
		return nil, fmt.Errorf("the gateway's session asked for %s", r.URL.Path)
	}
	body, err := json.Marshal(map[string]string{"url": g.target()})
	if err != nil {
		return nil, fmt.Errorf("the gateway's address: %w", err)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: bodyOf(body), Request: r,
	}, nil
}

// target is where to connect next.
func (g *gateway) target() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.resume != "" {
		return g.resume
	}
	return g.login
}

// errElsewhere makes the library forget the address that it keeps, which it does when it can't be reached.
var errElsewhere = errors.New("the address has changed")

// dialWire opens a connection that g can listen to, below the WebSocket and above TLS.
func (g *gateway) dialWire(ctx context.Context, network, addr string, secure bool) (net.Conn, error) {
	if u, err := url.Parse(g.target()); err != nil || !strings.HasPrefix(addr, u.Host) {
		return nil, errElsewhere
	}
	ctx, cancel := context.WithTimeout(ctx, tlsTime)
	defer cancel()
	c, err := g.dial(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnsent, err)
	}
	if secure {
		host, _, _ := net.SplitHostPort(addr) // the library has made it of two
		t := tls.Client(c, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
		if err := t.HandshakeContext(ctx); err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("the gateway's TLS: %w", err)
		}
		c = t
	}
	w := newWire(c)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wire = w
	return w, nil
}

func (g *gateway) newest() *wire {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wire
}
