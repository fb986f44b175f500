package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"parley/connectors"
)

const (
	defaultAPI    = "https://discord.com"
	tlsTime       = 10 * time.Second
	idleTime      = 30 * time.Second
	mostIdleConns = 64       // more than the budget sends at a time
	maxAnswer     = 16 << 20 // bytes
	maxRefusal    = 64 << 10 // bytes: an IP ban is reported as an HTML page
	requestTime   = 15 * time.Second
	editLimit     = 30046 // too many edits of an old message: a 429 that retrying soon won't clear
	expiredToken  = 50027 // of an interaction
	longestWords  = 200   // longest error text of Discord's that is quoted

	// apiVersion is the version of the REST API and of the gateway. The library's own is 9.
	apiVersion = "10"
	apiRoot    = defaultAPI + "/api/v" + apiVersion + "/"
)

// errRevoked and errUnsent tell the two extremes: no request will succeed any more, and this one can be repeated
// because nothing of it has left.
var (
	errRevoked = errors.New("Discord rejected the bot token; create a new one at " +
		"https://discord.com/developers/applications (your application, Bot, Reset Token) and set connectors.discord.token")
	errUnsent = errors.New("no connection to Discord")
)

// refusal is a definite error response: the request had no effect, and would fail again. It includes nothing of the
// request, which contains the token.
type refusal struct {
	status  int
	code    int // Discord's own error code; 0 if it gave none
	message string
	who     string // the server that answered
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s answered %d: %d %s", r.who, r.status, r.code, r.message)
}

// client makes REST requests. It waits only for the response, never for a rate limit: a request that would exceed one
// fails with [held], and its caller decides. The library's own rate limiter sleeps without a context, so every request
// gets a new one, which has nothing to wait for. It is safe for concurrent use.
type client struct {
	api    *discordgo.Session // never opened
	http   *http.Client
	limits *limits
	who    string // the server named in errors: Discord, or the one configured instead
	wrong  error  // invalid options

	token *connectors.Revocation
}

// proxy returns the proxy for a request, like [http.Transport]'s Proxy; nil means none.
type proxy func(*http.Request) (*url.URL, error)

// newClient returns a client for the API at base; empty is Discord's. An invalid base is reported in wrong, and
// requests then go to a host that can't exist.
func newClient(token, base string, dial connectors.Dialer, proxy proxy) *client {
	c := &client{limits: newLimits(), who: "Discord", token: connectors.NewRevocation(errRevoked)}
	if base == "" {
		base = defaultAPI
	} else {
		c.who = base
	}
	to, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil || to.Host == "" || to.Scheme != "https" && to.Scheme != "http" {
		c.wrong = errors.New("connectors.discord.api_url is not a URL; use one such as https://discord.com")
		to = &url.URL{Scheme: "https", Host: "discord.invalid"}
	}
	c.http = &http.Client{
		Transport: &transport{to: to, next: &http.Transport{
			DialContext: unsent(dial), Proxy: proxy, TLSHandshakeTimeout: tlsTime, IdleConnTimeout: idleTime, MaxIdleConnsPerHost: mostIdleConns,
			ForceAttemptHTTP2: true,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a redirect would leak the token
	}
	c.api = newLibrary(token)
	c.api.Client = c.http
	return c
}

// newLibrary returns a session of the library without logging, retries or state: it only builds requests.
func newLibrary(token string) *discordgo.Session {
	s, _ := discordgo.New("Bot " + token) // never fails
	s.LogLevel = -1                       // even its error log may quote secrets
	s.StateEnabled = false
	s.ShouldReconnectOnError, s.ShouldReconnectVoiceOnSessionError = false, false
	s.ShouldRetryOnRateLimit, s.MaxRestRetries = false, 0
	return s
}

// unsent marks the dialer's errors with errUnsent: without a connection, nothing was sent.
func unsent(dial connectors.Dialer) connectors.Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnsent, err)
		}
		return c, nil
	}
}

// do makes one request below the API's root. A nil in sends no body, an [upload] sends files; out may be nil. Its
// errors are errRevoked, [held], [refusal] and errUnsent; with any other error the outcome of the request is unknown.
// It blocks until ctx is done or the response is read.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	if err := c.token.Err(); err != nil {
		return err
	}
	r := routeOf(method, path)
	if err := c.limits.enter(r, time.Now()); err != nil {
		return err
	}
	kind, body, err := encode(in)
	if err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	x := &exchange{}
	// The library builds the request and reads the response; transport returns the hidden details in x.
	raw, err := c.api.RequestWithLockedBucket(method, apiRoot+path, kind, body,
		discordgo.NewRatelimiter().LockBucket(""), 0, discordgo.WithContext(context.WithValue(ctx, exchangeKey{}, x)))
	// Without a response it matters whether there was a connection: then the request may have been executed, otherwise
	// it can safely be repeated. Errors from the dialer are marked already.
	if x.status == 0 && !x.connected.Load() && !errors.Is(err, errUnsent) {
		return fmt.Errorf("%s: %w: %s: %w", r, errUnsent, c.who, withoutURL(err))
	}
	if x.status == 0 {
		return fmt.Errorf("%s: %s: %w", r, c.who, withoutURL(err))
	}
	c.limits.learn(r, x.header, time.Now())
	if x.status/100 != 2 {
		return c.refused(r, x)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		return fmt.Errorf("%s: read the reply of %s: %w", r, c.who, withoutURL(err))
	}
	return nil
}

// withoutURL removes the URL from an HTTP error: it may contain a secret, and it is always Discord's own, even if the
// request went elsewhere.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// refused classifies a response other than 2xx. A server error leaves the outcome unknown, so it is none of the errors
// that do lists.
func (c *client) refused(r route, x *exchange) error {
	var said struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(x.body, &said) // a proxy's error page is not JSON
	if len(said.Message) > longestWords {
		said.Message = strings.ToValidUTF8(said.Message[:longestWords], "")
	}
	switch {
	case x.status == http.StatusUnauthorized && said.Code != expiredToken: // that of an interaction, not the bot's
		c.token.Revoke()
		return errRevoked
	// The limit of edits to a message older than an hour is reported as a rate limit, but it is the message that can't
	// be edited; a hold would close the channel needlessly.
	case x.status == http.StatusTooManyRequests && said.Code != editLimit:
		return c.limits.refused(r, x, time.Now())
	case x.status >= http.StatusInternalServerError:
		return fmt.Errorf("%s: %s answered %d", r, c.who, x.status)
	case x.status == http.StatusRequestTimeout: // the request did not arrive
		return fmt.Errorf("%s: %w: %s answered %d", r, errUnsent, c.who, x.status)
	}
	return &refusal{status: x.status, code: said.Code, message: said.Message, who: c.who}
}

// exchange holds the details of a response that the library does not return. One belongs to one request, and travels in
// its context.
type exchange struct {
	connected atomic.Bool // a connection was made, secured if required: the request may have been sent
	status    int
	header    http.Header
	body      []byte // of a refusal
}

type exchangeKey struct{}

// transport redirects requests for Discord to the configured address, because the library's addresses are constants,
// and records the responses in their [exchange].
type transport struct {
	to   *url.URL
	next *http.Transport
}

// CloseIdleConnections is called by [http.Client].
func (t *transport) CloseIdleConnections() { t.next.CloseIdleConnections() }

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	ctx := r.Context()
	if ok {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.connected.Store(true) }})
	}
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.URL.Path, out.Host = t.to.Scheme, t.to.Host, t.to.Path+r.URL.Path, ""
	res, err := t.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	if !ok {
		return res, nil
	}
	x.status, x.header = res.StatusCode, res.Header
	// The library would read rate limits from the headers, and fail on malformed ones.
	res.Header = http.Header{}
	if res.StatusCode/100 == 2 {
		res.Body = limited{io.LimitReader(res.Body, maxAnswer), res.Body}
		return res, nil
	}
	// A partly read refusal is still a refusal.
	x.body, _ = io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(x.body))
	return res, nil
}

// limited is a response body with a size limit.
type limited struct {
	io.Reader
	io.Closer
}
