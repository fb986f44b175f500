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
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"parley/connectors"
)

const (
	defaultAPI   = "https://discord.com"
	tlsTime      = 10 * time.Second
	idleTime     = 30 * time.Second
	maxAnswer    = 16 << 20 // bytes
	maxRefusal   = 64 << 10 // bytes: a ban answers with a page of HTML
	requestTime  = 15 * time.Second
	editLimit    = 30046 // too many edits of an old message: a 429 that no wait mends soon (DR-11)
	longestWords = 200   // of Discord's own, in an error

	// apiVersion is that of requests and of the gateway. The library's own is 9.
	apiVersion = "10"
	apiRoot    = defaultAPI + "/api/v" + apiVersion + "/"
)

var (
	errRevoked = errors.New("Discord rejected the bot token; create a new one at " +
		"https://discord.com/developers/applications (your application, Bot, Reset Token) and set connectors.discord.token")
	errUnsent = errors.New("no connection to Discord")
)

// refusal is a definite no. It holds nothing of the request: that carries the token (SE-02).
type refusal struct {
	status  int
	code    int // Discord's own; 0 if it gave none
	message string
	who     string // answered
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s answered %d: %d %s", r.who, r.status, r.code, r.message)
}

// client makes REST requests. It waits for nothing but the reply: the library's own limiter sleeps where no context
// reaches it, so every request is given one of its own.
type client struct {
	api    *discordgo.Session // never opened
	http   *http.Client
	limits *limits
	who    string // answers, in errors: Discord, or the server that is configured in its place
	wrong  error  // of the settings

	revoked chan struct{} // closed when the token was refused: nothing is sent any more (DR-04)
	once    sync.Once
}

// proxy names the proxy for a request, like [http.Transport]'s Proxy; nil is none.
type proxy func(*http.Request) (*url.URL, error)

func newClient(token, base string, dial connectors.Dialer, proxy proxy) *client {
	c := &client{limits: newLimits(), who: "Discord", revoked: make(chan struct{})}
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
			DialContext: unsent(dial), Proxy: proxy, TLSHandshakeTimeout: tlsTime, IdleConnTimeout: idleTime, MaxIdleConnsPerHost: 16,
			ForceAttemptHTTP2: true,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would carry the token off
	}
	c.api = newLibrary(token)
	c.api.Client = c.http
	return c
}

// newLibrary returns a session that says nothing and decides nothing.
func newLibrary(token string) *discordgo.Session {
	s, _ := discordgo.New("Bot " + token) // never fails
	s.LogLevel = -1                       // even its errors may quote what must not be in a log
	s.StateEnabled = false
	s.ShouldReconnectOnError, s.ShouldReconnectVoiceOnSessionError = false, false
	s.ShouldRetryOnRateLimit, s.MaxRestRetries = false, 0
	return s
}

// unsent marks the errors of dial: nothing was sent.
func unsent(dial connectors.Dialer) connectors.Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnsent, err)
		}
		return c, nil
	}
}

// do makes one request below the API's root. A nil in has no body, an [upload] a file; out may be nil. Its errors are errRevoked, [held],
// [refusal] and errUnsent; with any other, nobody knows what became of the request.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	select {
	case <-c.revoked:
		return errRevoked
	default:
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
	raw, err := c.api.RequestWithLockedBucket(method, apiRoot+path, kind, body,
		discordgo.NewRatelimiter().LockBucket(""), 0, discordgo.WithContext(context.WithValue(ctx, exchangeKey{}, x)))
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

// withoutURL takes the URL out of an error of HTTP: it is Discord's own, wherever the request went, and may hold a secret.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// refused says what a reply other than 2xx means.
func (c *client) refused(r route, x *exchange) error {
	var said struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(x.body, &said) // a proxy's page is no JSON
	if len(said.Message) > longestWords {
		said.Message = strings.ToValidUTF8(said.Message[:longestWords], "")
	}
	switch {
	case x.status == http.StatusUnauthorized:
		c.revoke()
		return errRevoked
	case x.status == http.StatusTooManyRequests && said.Code != editLimit:
		return c.limits.refused(r, x, time.Now())
	case x.status >= http.StatusInternalServerError:
		return fmt.Errorf("%s: %s answered %d", r, c.who, x.status)
	case x.status == http.StatusRequestTimeout: // the request did not arrive
		return fmt.Errorf("%s: %w: %s answered %d", r, errUnsent, c.who, x.status)
	}
	return &refusal{status: x.status, code: said.Code, message: said.Message, who: c.who}
}

func (c *client) revoke() { c.once.Do(func() { close(c.revoked) }) }

// exchange is what came back, beyond what the library hands on.
type exchange struct {
	connected atomic.Bool // there was a connection, secured where that is asked: the request may have been sent
	status    int
	header    http.Header
	body      []byte // of a refusal
}

type exchangeKey struct{}

// transport sends what is meant for Discord to another address, and keeps what came back.
type transport struct {
	to   *url.URL
	next *http.Transport
}

// CloseIdleConnections is what [http.Client] looks for.
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
	res.Header = http.Header{} // the library would read limits there, and fail where it can't
	if res.StatusCode/100 == 2 {
		res.Body = limited{io.LimitReader(res.Body, maxAnswer), res.Body}
		return res, nil
	}
	x.body, _ = io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // half a refusal is one
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(x.body))
	return res, nil
}

// limited is a body that is read up to a limit.
type limited struct {
	io.Reader
	io.Closer
}
