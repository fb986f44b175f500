// Package guard is an HTTP client for URLs that others choose: users, and models that read texts of strangers.
// It connects to the public internet only, so such a URL can't reach services on this machine or in the private
// network, limits size and time, and sends no credentials.
//
// An address is checked twice: its text before the request and at each redirect (allowed), and the resolved IP address
// when the connection is made (dial). The second check is the one that counts, because a host name can resolve to a
// public address first and to a private one then.
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

	"parley/internal/version"
)

// Reasons why nothing was read. No error contains the path or query of an address, because these can be signed.
var (
	ErrForbidden = errors.New("this address is not allowed")
	ErrTooLarge  = errors.New("it is larger than allowed")
	ErrGone      = errors.New("it is not there any more")
)

const (
	maxRedirects = 3
	dialTime     = 10 * time.Second
	wholeTime    = 30 * time.Second
	userAgent    = version.UserAgent + " (attachment reader)"
)

// Options restrict the addresses that a [Client] can reach. The zero value allows the whole public internet.
type Options struct {
	// Hosts are the only allowed host names, also for redirects; empty for all.
	Hosts []string
	// Trusted is the owner's own server, as scheme://host or scheme://host:port, which can have any address. Empty for
	// none.
	Trusted string
	// Dial opens connections instead of the system's network. It is never called for a forbidden IP address; if it
	// resolves host names itself, it must not connect to one either.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client downloads files from URLs that others choose. It is safe for concurrent use.
type Client struct {
	options Options
	trusted string // host and port of Options.Trusted; "" for none
	http    *http.Client

	schemes, ports []string      // the allowed ones
	limit          time.Duration // for a whole download
	resolver       *net.Resolver // of host names, without Dial; nil is the system's
}

// Get downloads at most limit bytes from address, and returns them with the content type that the server reports. Its
// errors are [ErrForbidden], [ErrTooLarge] and [ErrGone], and others; a timeout is one of [net.Error].
func (c *Client) Get(ctx context.Context, address string, limit int64) (data []byte, mime string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, errSlow)
	defer cancel()
	data, mime, err = c.get(ctx, address, limit)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return nil, "", cause
	}
	return data, mime, err
}

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

// Send sends a request, whose body is for its address alone: it follows no redirects. Its errors are [ErrForbidden] and others.
func (c *Client) Send(req *http.Request) (*http.Response, error) {
	if err := c.allowed(req.URL); err != nil {
		return nil, err
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := (&http.Client{Transport: c.http.Transport, CheckRedirect: stay, Timeout: c.limit}).Do(req)
	return res, bare(err)
}

// allowed checks the text of an address, before a request and at each redirect. Only the owner's own server is exempt,
// and only by its exact scheme, host and port.
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

// dial connects, if the resolved address is public. Control is called with the address that the socket is about to
// connect to, so nothing can change it after the check.
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

// New returns a Client. It ignores the proxy of the environment: the proxy would resolve the host, so the address could
// not be checked.
func New(o Options) *Client {
	c := &Client{options: o, schemes: []string{"https"}, ports: []string{"443"}, limit: wholeTime}
	if u, err := url.Parse(o.Trusted); err == nil && o.Trusted != "" {
		c.trusted = net.JoinHostPort(u.Hostname(), portOf(u))
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			// Connections are not kept: each is made, and so checked, for one request.
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

// errSlow is a timeout in the sense of [net.Error].
var errSlow error = slow{}

// slow is a timeout, so that callers recognize it as they do one of the network.
type slow struct{}

func (slow) Error() string { return "it took too long" }

func (slow) Timeout() bool { return true }

func (slow) Temporary() bool { return true }

// bare returns err without the address that [url.Error] adds.
func bare(err error) error {
	for outer := (*url.Error)(nil); errors.As(err, &outer); {
		err = outer.Err
	}
	return err
}

// portOf returns the port of an address, or that of its scheme.
func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"https": "443", "http": "80"}[u.Scheme]
}

// checkDialled rejects an address that is not public.
func checkDialled(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !public(to.Addr()) {
		return fmt.Errorf("%w: it is not on the public internet", ErrForbidden)
	}
	return nil
}

// inside lists the ranges that are not on the public internet and that [netip.Addr] has no method for: first IPv4, then
// IPv6, including the ways to write an IPv4 address in IPv6, which could disguise a private address.
var inside = []netip.Prefix{ // never changed; from IANA's registries of special-purpose addresses, November 2026
	netip.MustParsePrefix("0.0.0.0/8"),        // this network
	netip.MustParsePrefix("100.64.0.0/10"),    // carrier-grade NAT; also Alibaba's metadata, 100.100.100.200
	netip.MustParsePrefix("192.0.0.0/24"),     // IETF protocols; also Oracle's metadata, 192.0.0.192
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("192.88.99.0/24"),   // 6to4 relays
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved, and broadcast
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's own services, which look public

	netip.MustParsePrefix("::/96"),           // IPv4-compatible
	netip.MustParsePrefix("::ffff:0:0:0/96"), // IPv4-translated
	netip.MustParsePrefix("64:ff9b::/96"),    // NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),  // NAT64 of a network's own
	netip.MustParsePrefix("100::/64"),        // discarded
	netip.MustParsePrefix("2001::/23"),       // IETF protocols, Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4
	netip.MustParsePrefix("3fff::/20"),       // documentation
	netip.MustParsePrefix("5f00::/16"),       // segment routing
	netip.MustParsePrefix("fec0::/10"),       // site-local, of old
}

// public reports whether ip is on the public internet. Metadata services of clouds, private networks and this machine
// are not.
func public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if !ip.IsValid() || !ip.IsGlobalUnicast() || ip.IsPrivate() { // global leaves out loopback, link-local and multicast
		return false
	}
	for _, p := range inside {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}
