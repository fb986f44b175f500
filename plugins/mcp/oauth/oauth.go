// Package oauth logs the gateway in to MCP servers with OAuth 2.1, and keeps the tokens: encrypted, fresh, and the same
// for all gateways that share a store. A person logs in once, with a browser; [Tokens] does the rest.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Settings are those of one server.
type Settings struct {
	Server string // its name
	URL    string // its MCP endpoint, which is also the resource that tokens are asked for
	// ClientID and ClientSecret are of a client that was registered by hand. Empty: the gateway registers itself.
	ClientID, ClientSecret string
	Issuer                 string   // the only authorization server that is accepted; empty: the first that the server names
	Scopes                 []string // empty: those that the server names
}

// Store keeps the results of logins.
type Store interface {
	// Kept returns the value under name, or "".
	Kept(ctx context.Context, name string) (string, error)
	// Swap stores value under name if old is the value there ("" is none), and reports whether it was.
	Swap(ctx context.Context, name, old, value string) (bool, error)
}

// ErrLogin means that a person has to log in, for the first time or again.
var ErrLogin = errors.New("it needs a login")

// Name returns the name of the stored login of a server.
func Name(server string) string { return "login " + server }

const (
	httpLimit = 15 * time.Second // for one request to an authorization server
	maxBody   = 64 << 10         // bytes of a response of one
)

// Dial has the signature of net.Dialer.DialContext.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// NewClient returns the client for authorization servers. dial is nil for the usual connections.
func NewClient(dial Dial) *http.Client {
	inner := &http.Transport{
		DialContext: dial, MaxResponseHeaderBytes: 64 << 10, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		DisableCompression: true, DisableKeepAlives: true,
	}
	if dial == nil {
		inner.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{Transport: atHome{inner}, Timeout: httpLimit}
}

// atHome refuses redirects to another origin: a request can carry a code, a secret or a token.
type atHome struct{ inner http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (a atHome) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := a.inner.RoundTrip(r)
	if err != nil || res.StatusCode < 300 || res.StatusCode > 399 {
		return res, err
	}
	to, err := res.Location()
	if err != nil || to.Scheme != r.URL.Scheme || to.Host != r.URL.Host {
		_ = res.Body.Close()
		return nil, errors.New("it redirects to another server")
	}
	return res, nil
}

// secure fails for an address without encryption that is not on this machine.
func secure(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return errors.New("an address of the authorization server can't be read")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("%s is not an https address", u.Redacted())
}
