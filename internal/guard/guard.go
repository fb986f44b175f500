// Package guard is an HTTP client for URLs chosen by other people: it connects to the public internet only, limits size
// and time, and sends no credentials.
package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Reasons why nothing was read. No error contains the path or query of an address, because they may be signed.
var (
	ErrForbidden = errors.New("this address is not allowed")
	ErrTooLarge  = errors.New("it is larger than allowed")
	ErrGone      = errors.New("it is not there any more")
)

const (
	maxRedirects = 3
	dialTime     = 10 * time.Second
	wholeTime    = 30 * time.Second
	userAgent    = "Parley (attachment reader)"
)

// Options restrict what a [Client] can reach. The zero Options allow the whole public internet.
type Options struct {
	// Hosts are the only allowed host names, also for redirects; empty for all.
	Hosts []string
	// Trusted is the owner's own server, as scheme://host or scheme://host:port, which can have any address. Empty for
	// none.
	Trusted string
	// Dial opens connections instead of the system's network. It is never called for a forbidden address, and must not
	// connect to one either.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client downloads files from URLs chosen by other people. It is safe for concurrent use.
type Client struct {
	options Options
	trusted string // host and port of that server
	http    *http.Client

	schemes, ports []string      // the allowed ones
	limit          time.Duration // for a file
	resolver       *net.Resolver // of host names, if there is no Dial; nil is the system's
}

// New returns a Client. It ignores the proxy of the environment: the proxy would resolve the host, so its address could
// not be checked.
func New(o Options) *Client {
	c := &Client{options: o, schemes: []string{"https"}, ports: []string{"443"}, limit: wholeTime}
	if u, err := url.Parse(o.Trusted); err == nil && o.Trusted != "" {
		c.trusted = net.JoinHostPort(u.Hostname(), portOf(u))
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: c.dial, TLSHandshakeTimeout: dialTime, DisableKeepAlives: true,
			MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
			DisableCompression: true, // otherwise a small response could grow beyond the limit in memory
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("%w: more than %d redirects", ErrForbidden, maxRedirects)
			}
			req.Header.Del("Referer") // the address of the last request may be signed
			return c.allowed(req.URL)
		},
	}
	return c
}

// Get downloads at most limit bytes from address, and returns them with the content type reported by the server.
func (c *Client) Get(ctx context.Context, address string, limit int64) (data []byte, mime string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, errSlow)
	defer cancel()
	data, mime, err = c.get(ctx, address, limit)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return nil, "", cause
	}
	return data, mime, err
}

// errSlow is a timeout in the sense of [net.Error].
var errSlow error = slow{}

type slow struct{}

func (slow) Error() string   { return "it took too long" }
func (slow) Timeout() bool   { return true }
func (slow) Temporary() bool { return true }

func (c *Client) get(ctx context.Context, address string, limit int64) ([]byte, string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", fmt.Errorf("%w: it can't be read", ErrForbidden)
	}
	if err := c.allowed(u); err != nil {
		return nil, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("%w: it can't be read", ErrForbidden)
	}
	req.Header.Set("User-Agent", userAgent)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, "", bare(err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound, res.StatusCode == http.StatusGone, res.StatusCode == http.StatusForbidden:
		return nil, "", fmt.Errorf("%w: %s answered %d", ErrGone, u.Hostname(), res.StatusCode)
	case res.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("%s answered %d", u.Hostname(), res.StatusCode)
	case res.ContentLength > limit:
		return nil, "", fmt.Errorf("%w: %d bytes", ErrTooLarge, res.ContentLength)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, "", fmt.Errorf("read from %s: %w", u.Hostname(), bare(err))
	}
	if int64(len(data)) > limit {
		return nil, "", ErrTooLarge
	}
	return data, res.Header.Get("Content-Type"), nil
}

// bare returns err without the address in [url.Error], which may be signed.
func bare(err error) error {
	for outer := (*url.Error)(nil); errors.As(err, &outer); {
		err = outer.Err
	}
	return err
}

// allowed checks the text of an address before a request.
func (c *Client) allowed(u *url.URL) error {
	port := portOf(u)
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	switch {
	case c.trusted != "" && u.User == nil && c.options.Trusted == u.Scheme+"://"+u.Host:
		return nil
	case !slices.Contains(c.schemes, u.Scheme):
		return fmt.Errorf("%w: its scheme is %q", ErrForbidden, u.Scheme)
	case u.User != nil:
		return fmt.Errorf("%w: it has a user name", ErrForbidden)
	case !slices.Contains(c.ports, port):
		return fmt.Errorf("%w: its port is %q", ErrForbidden, port)
	case host == "", len(c.options.Hosts) > 0 && !slices.Contains(c.options.Hosts, host):
		return fmt.Errorf("%w: its host is not an allowed file host", ErrForbidden)
	}
	if ip, err := netip.ParseAddr(host); err == nil && !public(ip) {
		return fmt.Errorf("%w: it is not on the public internet", ErrForbidden)
	}
	return nil
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"https": "443", "http": "80"}[u.Scheme]
}

// dial connects. It checks the resolved address, because a host name can resolve to another address the next time.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.options.Dial != nil {
		return c.dialled(ctx, network, address)
	}
	d := net.Dialer{Timeout: dialTime, Resolver: c.resolver, Control: func(_, found string, _ syscall.RawConn) error {
		if address == c.trusted {
			return nil
		}
		return checkDialled(found)
	}}
	return d.DialContext(ctx, network, address)
}

// dialled connects with the Dial of the options.
func (c *Client) dialled(ctx context.Context, network, address string) (net.Conn, error) {
	if host, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForbidden, err)
	} else if _, err := netip.ParseAddr(host); err == nil && address != c.trusted {
		if err := checkDialled(address); err != nil {
			return nil, err
		}
	}
	return c.options.Dial(ctx, network, address)
}

// checkDialled rejects an address that is not public.
func checkDialled(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !public(to.Addr()) {
		return fmt.Errorf("%w: it is not on the public internet", ErrForbidden)
	}
	return nil
}
