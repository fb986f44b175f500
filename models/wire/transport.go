package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Time limits for the phases of a request. There is no limit on the whole: long answers are fine, and the reader of the
// stream limits the silence between chunks.
const (
	dialTime   = 10 * time.Second
	tlsTime    = 10 * time.Second
	headerTime = 2 * time.Minute // local servers send their headers with the first token
	idleTime   = 90 * time.Second
)

// maxBody is how much is read of what a server sends, in bytes.
const maxBody = 64 << 20

// MaxRefusal is how much is read of what a server sends instead of an answer, in bytes.
const MaxRefusal = 64 << 10

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// unreached marks errors from before there was a connection.
type unreached struct{ error }

func (u unreached) Unwrap() error { return u.error }

func newTransport(open dial) *http.Transport {
	t := &http.Transport{
		TLSHandshakeTimeout:   tlsTime,
		ResponseHeaderTimeout: headerTime,
		IdleConnTimeout:       idleTime,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   128, // as many answers at once without a new handshake
	}
	if open == nil {
		open = (&net.Dialer{Timeout: dialTime}).DialContext
		t.Proxy = http.ProxyFromEnvironment
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := open(ctx, network, address)
		if err != nil {
			return nil, unreached{err}
		}
		return conn, nil
	}
	return t
}

// stay follows no redirect: a POST would arrive as a GET, or with its key at another server.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Refuse turns every answer that is none into a [*Refusal], and bounds the others. While those are read, the request's
// body is not kept.
func Refuse(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	body := hold(req)
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer res.Body.Close()
		return nil, readRefusal(res)
	}
	body.drop()
	res.Body = bounded{io.LimitReader(res.Body, maxBody), res.Body}
	return res, nil
}

// held is the body of a request, of which the transport keeps a copy until the response has ended: that is the whole
// prompt, for as long as an answer takes.
type held struct {
	mu    sync.Mutex
	body  io.ReadCloser
	again func() (io.ReadCloser, error) // http.Request.GetBody
	read  bool                          // to its end
}

// hold puts a held body in place of that of req.
func hold(req *http.Request) *held {
	h := &held{body: req.Body, again: req.GetBody}
	if h.body != nil && h.body != http.NoBody {
		req.Body = h
		if h.again != nil {
			req.GetBody = func() (io.ReadCloser, error) {
				h.mu.Lock()
				defer h.mu.Unlock()
				return h.again()
			}
		}
	}
	return h
}

// Read implements io.Reader.
func (h *held) Read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := h.body.Read(p)
	h.read = h.read || errors.Is(err, io.EOF)
	return n, err
}

// Close implements io.Closer.
func (h *held) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.body.Close()
}

// drop forgets the body once there is a response, unless some of it is still to be sent.
func (h *held) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.read {
		h.body = http.NoBody
		h.again = func() (io.ReadCloser, error) { return nil, errSent }
	}
}

var errSent = errors.New("the request was answered: it is not sent again")

// bounded is a body of which only so much is read.
type bounded struct {
	io.Reader
	io.Closer
}

// parseBase reads a base URL that is set with a setting. Where it can't, the URL it returns must not be used. The error
// never quotes the text: it may hold a password.
func parseBase(text, from string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
	case u.Scheme != "http" && u.Scheme != "https":
		err = errors.New("it does not begin with http:// or https://")
	case u.Hostname() == "":
		err = errors.New("it names no host")
	default:
		return u, nil
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		err = errors.New("it is not a URL")
	}
	return &url.URL{Scheme: "http", Host: "invalid.invalid"}, &setting{from + " can't be used: " + err.Error()}
}

// Place is base as people may read it: without user info and query.
func Place(base *url.URL) string {
	return (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}).String()
}

// isLocal reports whether base is a server of the owner's own: on this machine or in its private network.
func isLocal(base *url.URL) bool {
	host := strings.ToLower(base.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()
	}
	if !strings.Contains(host, ".") {
		return true // localhost, or a neighbour in a compose file
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".lan", ".home.arpa"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
