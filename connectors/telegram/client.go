package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
)

const (
	defaultAPI = "https://api.telegram.org"
	tlsTime    = 10 * time.Second
	idleTime   = 30 * time.Second // less than servers keep idle connections: a request into a closed one is lost
	maxAnswer  = 32 << 20         // bytes
)

// client makes requests. No error of its contains the token (SE-02).
type client struct {
	api   tgbotapi.BotAPI
	http  *http.Client
	clean *strings.Replacer
	files string // where files are: with the token in it

	revoked chan struct{} // closed when the token was refused: nothing is sent any more (TR-30)
	once    sync.Once
}

func newClient(token, base string, dial connectors.Dialer) *client {
	c := &client{revoked: make(chan struct{}), clean: redactor(token)}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: dial, Proxy: proxy(dial), TLSHandshakeTimeout: tlsTime, IdleConnTimeout: idleTime, MaxIdleConnsPerHost: 16,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would carry the token off
	}
	if base == "" {
		base = defaultAPI
	}
	base = strings.TrimRight(base, "/")
	c.files = base + "/file/bot" + token + "/"
	c.api = tgbotapi.BotAPI{Token: token}
	c.api.SetAPIEndpoint(strings.ReplaceAll(base, "%", "%%") + "/bot%s/%s")
	return c
}

// proxy is the environment's, where nobody has said how to connect.
func proxy(dial connectors.Dialer) func(*http.Request) (*url.URL, error) {
	if dial != nil {
		return nil
	}
	return http.ProxyFromEnvironment
}

// redactor takes the token and its secret half out of texts, as they are and as URLs write them.
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

// errUnsent marks a request for which there was no connection: certainly nothing came of it.
var errUnsent = errors.New("can't connect")

// errRevoked says that the server does not know the token, or not any more.
var errRevoked = errors.New("Telegram rejected the bot token; get a new one from @BotFather (/token) and set connectors.telegram.token")

// refusal is an answer that is no result.
type refusal struct {
	method   string
	code     int
	text     string
	after    time.Duration // when to try again; 0 if it does not say
	migrated int64         // the group's new id; 0 if it has none
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: %d %s", r.method, r.code, r.text) }

// says tells whether the server used one of these words.
func (r *refusal) says(words ...string) bool {
	text := strings.ToLower(r.text)
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// call makes one request, with files if there are any, and decodes its result into v. The error is a *refusal, errUnsent or errRevoked, or else it
// is not known whether the server did it.
func (c *client) call(ctx context.Context, method string, params tgbotapi.Params, v any, files ...tgbotapi.RequestFile) error {
	select {
	case <-c.revoked:
		return errRevoked
	default:
	}
	t := &trip{ctx: ctx, http: c.http}
	api := c.api
	api.Client = t
	answer, err := request(api, method, params, files)
	err = c.failure(t, method, err)
	if errors.Is(err, errRevoked) {
		c.once.Do(func() { close(c.revoked) })
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer.Result, v); err != nil {
		return fmt.Errorf("%s: decode the result: %w", method, err)
	}
	return nil
}

func request(api tgbotapi.BotAPI, method string, params tgbotapi.Params, files []tgbotapi.RequestFile) (*tgbotapi.APIResponse, error) {
	if len(files) == 0 {
		return api.MakeRequest(method, params)
	}
	answer, err := api.UploadFiles(method, params, files)
	if said := (*tgbotapi.Error)(nil); errors.As(err, &said) {
		said.Code = answer.ErrorCode // which the library leaves out of uploads alone
	}
	return answer, err
}

// failure sorts what request returned.
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
	case t.status >= http.StatusMultipleChoices: // the page of a proxy
		return &refusal{method: method, code: t.status, text: http.StatusText(t.status), after: t.after}
	case !t.sent:
		return fmt.Errorf("%s: %w: %w", method, errUnsent, c.redact(err))
	}
	return fmt.Errorf("%s: %w", method, c.redact(err))
}

// redact takes the address out of err, which holds the token. If it stands elsewhere too, only the text remains.
func (c *client) redact(err error) error {
	for outer := (*url.Error)(nil); errors.As(err, &outer); {
		err = outer.Err
	}
	if text := err.Error(); c.clean.Replace(text) != text {
		return errors.New(c.clean.Replace(text))
	}
	return err
}

// trip is the HTTP client of one request: it has its context, and remembers how far it came.
type trip struct {
	ctx    context.Context
	http   *http.Client
	sent   bool // there was a connection
	status int
	after  time.Duration
}

// Do implements tgbotapi.HTTPClient.
func (t *trip) Do(req *http.Request) (*http.Response, error) {
	got := make(chan struct{}, 1)
	ctx := httptrace.WithClientTrace(t.ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		select {
		case got <- struct{}{}:
		default: // a second one
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
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}
