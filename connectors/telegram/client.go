package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
)

const (
	defaultAPI = "https://api.telegram.org"
	tlsTime    = 10 * time.Second
	idleTime   = 30 * time.Second // shorter than servers keep idle connections, because a request on a closed connection is lost
	maxAnswer  = 32 << 20         // bytes

	mostIdleConns = 64 // more than the budget sends at a time, because a handshake takes longer than a request
)

// client makes requests. The token is part of every address, so errors are cleaned of it: no error of a client contains
// the token. It is safe for concurrent use.
type client struct {
	api   tgbotapi.BotAPI
	http  *http.Client
	clean *strings.Replacer
	// files is the base URL of downloads, which contains the token.
	files string

	token *connectors.Revocation
}

// newClient returns a client for the API at base; empty is Telegram's.
func newClient(token, base string, dial connectors.Dialer) *client {
	c := &client{token: connectors.NewRevocation(errRevoked), clean: redactor(token)}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: dial, Proxy: proxy(dial), TLSHandshakeTimeout: tlsTime, IdleConnTimeout: idleTime, MaxIdleConnsPerHost: mostIdleConns,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a redirect would leak the token
	}
	if base == "" {
		base = defaultAPI
	}
	base = strings.TrimRight(base, "/")
	c.files = base + "/file/bot" + token + "/"
	c.api = tgbotapi.BotAPI{Token: token}
	// The library uses the address as a format.
	c.api.SetAPIEndpoint(strings.ReplaceAll(base, "%", "%%") + "/bot%s/%s")
	return c
}

// proxy returns the environment's proxy, unless a dialer is configured.
func proxy(dial connectors.Dialer) func(*http.Request) (*url.URL, error) {
	if dial != nil {
		return nil
	}
	return http.ProxyFromEnvironment
}

// redactor removes the token and its secret half from texts, both plain and URL-encoded. The first half is the bot's
// id, which is no secret.
func redactor(token string) *strings.Replacer {
	var pairs []string
	_, secret, _ := strings.Cut(token, ":")
	for _, s := range []string{token, secret} {
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
			if form != "" {
				pairs = append(pairs, form, "***")
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// errUnsent marks a request without a connection, which certainly had no effect.
var errUnsent = errors.New("can't connect")

// errRevoked means that the server rejects the token.
var errRevoked = errors.New("Telegram rejected the bot token; get a new one from @BotFather (/token) and set connectors.telegram.token")

// refusal is an error response of the Bot API, or of a proxy in front of it. With a status below 500 the request had no
// effect.
type refusal struct {
	method   string
	code     int
	text     string
	after    time.Duration // when to retry; 0 if the server does not say
	migrated int64         // the group's new id; 0 if it has not moved
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: %d %s", r.method, r.code, r.text) }

// says reports whether the server's description contains one of the words, which are in lower case.
func (r *refusal) says(words ...string) bool {
	text := strings.ToLower(r.text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// call makes one request, with files if there are any, and decodes its result into v. If the error is neither a
// *refusal nor errUnsent nor errRevoked, the outcome of the request is unknown. It blocks until ctx is done or the
// response is read.
func (c *client) call(ctx context.Context, method string, params tgbotapi.Params, v any, files ...tgbotapi.RequestFile) error {
	if err := c.token.Err(); err != nil {
		return err
	}
	t := &trip{ctx: ctx, http: c.http}
	// A copy for each request, because the library keeps its HTTP client there and takes no context.
	api := c.api
	api.Client = t
	answer, err := request(api, method, params, files)
	err = c.failure(t, method, err)
	if errors.Is(err, errRevoked) {
		c.token.Revoke()
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer.Result, v); err != nil {
		return fmt.Errorf("%s: decode the result: %w", method, err)
	}
	return nil
}

// request makes the request with the library.
func request(api tgbotapi.BotAPI, method string, params tgbotapi.Params, files []tgbotapi.RequestFile) (*tgbotapi.APIResponse, error) {
	if len(files) == 0 {
		return api.MakeRequest(method, params)
	}
	answer, err := api.UploadFiles(method, params, files)
	if said := (*tgbotapi.Error)(nil); errors.As(err, &said) {
		said.Code = answer.ErrorCode // the library sets it except for uploads
	}
	return answer, err
}

// failure classifies the error of a request, by the description in the response, then by the status of the response,
// then by whether there was a connection.
func (c *client) failure(t *trip, method string, err error) error {
	var said *tgbotapi.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &said) && said.Code == http.StatusUnauthorized:
		return errRevoked
	case errors.As(err, &said) && said.Code != 0:
		return &refusal{
			method: method, code: said.Code, text: c.clean.Replace(said.Message),
			after: time.Duration(said.RetryAfter) * time.Second, migrated: said.MigrateToChatID,
		}
	// The response of a proxy, which is not the JSON that the library expects.
	case t.status >= http.StatusMultipleChoices:
		return &refusal{method: method, code: t.status, text: http.StatusText(t.status), after: t.after}
	case !t.sent:
		return fmt.Errorf("%s: %w: %w", method, errUnsent, c.redact(err))
	}
	return fmt.Errorf("%s: %w", method, c.redact(err))
}

// redact removes the request's address, which contains the token, from err. If the token occurs elsewhere too, only the
// redacted text of the error remains, without the errors that it wraps.
func (c *client) redact(err error) error {
	for outer := (*url.Error)(nil); errors.As(err, &outer); {
		err = outer.Err
	}
	if text := err.Error(); c.clean.Replace(text) != text {
		return errors.New(c.clean.Replace(text))
	}
	return err
}

// trip is the HTTP client of one request: it adds the request's context and records whether a connection was made.
// Without one the request can be repeated safely.
type trip struct {
	ctx    context.Context
	http   *http.Client
	sent   bool // a connection was made
	status int
	after  time.Duration
}

// Do implements tgbotapi.HTTPClient.
func (t *trip) Do(req *http.Request) (*http.Response, error) {
	// A channel, because the callback can run in another goroutine, even after Do has returned.
	got := make(chan struct{}, 1)
	ctx := httptrace.WithClientTrace(t.ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		select {
		case got <- struct{}{}:
		default: // a second connection
		}
	}})
	resp, err := t.http.Do(req.WithContext(ctx))
	t.sent = len(got) > 0
	if err != nil {
		return nil, err
	}
	t.status = resp.StatusCode
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		t.after = time.Duration(s) * time.Second
	}
	body := io.LimitReader(resp.Body, maxAnswer)
	if resp.StatusCode == http.StatusTooManyRequests {
		raw, _ := io.ReadAll(body) // the rest of a broken connection is no JSON
		t.after, body = max(t.after, retryAfter(raw)), bytes.NewReader(raw)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	return resp, nil
}

// retryAfter returns how long a refusal asks to wait, or 0. The library can't read a refusal with anything but a whole number.
func retryAfter(raw []byte) time.Duration {
	var said struct {
		Parameters struct {
			After json.Number `json:"retry_after"`
		} `json:"parameters"`
	}
	_ = json.Unmarshal(raw, &said) // a proxy's page
	seconds, _ := said.Parameters.After.Float64()
	return time.Duration(min(max(seconds, 0), maxRetryAfter) * float64(time.Second))
}

const maxRetryAfter = 30 * 24 * 3600 // seconds
