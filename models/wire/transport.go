package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/core/llm"
)

// Time limits of the phases of a request. There is none for the whole: long answers are fine, and the reader of a
// stream limits the silence between chunks.
const (
	dialTime   = 10 * time.Second
	tlsTime    = 10 * time.Second
	headerTime = 2 * time.Minute // local servers send their headers with the first token, after they have loaded the model and read the prompt
	idleTime   = 90 * time.Second
)

// maxBody is the maximum size of a response that is read, in bytes. It bounds images in base64, and streams without
// end.
const maxBody = 64 << 20

// MaxRefusal is the maximum size of an error response that is read, in bytes.
const MaxRefusal = 64 << 10

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// unreached marks errors from before a connection was established.
type unreached struct{ error }

func (u unreached) Unwrap() error { return u.error }

// newTransport returns a transport of its own for each endpoint, so that one slow provider does not use up the
// connections of others.
func newTransport(open dial) *http.Transport {
	t := &http.Transport{
		TLSHandshakeTimeout:   tlsTime,
		ResponseHeaderTimeout: headerTime,
		IdleConnTimeout:       idleTime,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   128, // so many answers at a time reuse connections; the default of 2 means a TLS handshake for most
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

// stay follows no redirect: the client would repeat a POST as a GET, or send its key to another server.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Refuse is a middleware that turns every response without a 2xx status into a [*Refusal], as SDKs would keep only a
// part of it, and limits the size of others. It also frees the request's body once the response has begun.
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

// held is the body of a request. The transport keeps the request until the response has ended. Without held, the whole
// prompt, with its images, would stay in memory for as long as an answer takes.
type held struct {
	mu    sync.Mutex
	body  io.ReadCloser
	again func() (io.ReadCloser, error) // http.Request.GetBody; for another attempt on a new connection
	read  bool                          // to its end
}

// hold replaces the body of req by a held one.
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

// drop frees the body after the response has begun, unless some of it is still to be sent (a server can answer early).
func (h *held) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.read {
		h.body = http.NoBody
		h.again = func() (io.ReadCloser, error) { return nil, errSent }
	}
}

var errSent = errors.New("the request was answered: it is not sent again")

// bounded is a body with a limit on the bytes read.
type bounded struct {
	io.Reader
	io.Closer
}

// parseBase parses a base URL, which is set by the setting from. If it can't be used, it returns an error and an
// address that leads nowhere, so that later code needs no check for nil. The error never quotes the text, which may
// contain a password.
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
	return &url.URL{Scheme: "http", Host: "invalid.invalid"}, &setting{llm.WrongAddress, from + " can't be used: " + err.Error()}
}

// Place returns base in readable form: without user info and query.
func Place(base *url.URL) string {
	return (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}).String()
}

// isLocal reports whether base is in the owner's own network, so that errors suggest starting the server.
func isLocal(base *url.URL) bool {
	host := strings.ToLower(base.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()
	}
	if !strings.Contains(host, ".") {
		return true // localhost, or another service of a compose file
	}
	private := []string{".localhost", ".local", ".internal", ".lan", ".home.arpa"}
	return slices.ContainsFunc(private, func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}
