package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"parley/internal/rest"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	margin  = 30 * time.Second       // before its end a token is renewed
	holding = 2 * httpLimit          // the time that one gateway alone renews a token
	again   = 500 * time.Millisecond // between two looks at the work of another gateway
	looks   = 200                    // of them at most
)

// Tokens are the tokens of one server. Its fields are set before use. It is safe for concurrent use.
type Tokens struct {
	Settings
	Key    Key
	Store  Store
	Client *http.Client
	// Refused is called when the authorization server gives no more tokens. Which identifies the login that has ended.
	Refused func(ctx context.Context, which string)
	Log     *slog.Logger

	mu      sync.Mutex
	secrets []string // of the newest logins

	rejected atomic.Bool   // the stored login has had fresh tokens rejected
	turn     chan struct{} // holds a value while a goroutine of this process looks for a token
}

// NewTokens returns the tokens of a server.
func NewTokens(s Settings, k Key, client *http.Client, log *slog.Logger) *Tokens {
	return &Tokens{Settings: s, Key: k, Client: client, Refused: func(context.Context, string) {}, Log: log, turn: make(chan struct{}, 1)}
}

// Token returns an access token that is not rejected, which can be "". It asks for another one if that is needed.
// [ErrLogin] if a person has to log in.
func (t *Tokens) Token(ctx context.Context, rejected string) (string, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	me := rand.Text()
	for range looks {
		l, e, raw, err := t.load(ctx)
		switch {
		case err != nil:
			return "", err
		case l.Access != rejected && (l.Expires.IsZero() || time.Now().Before(l.Expires.Add(-margin))):
			return l.Access, nil
		case e.Holder != me && time.Now().Before(e.Until): // another gateway renews it
			if err := rest.For(ctx, again); err != nil {
				return "", err
			}
			continue
		}
		if e.Holder != me {
			if err := t.hold(ctx, raw, e, me); err != nil {
				return "", err
			}
			continue // to read the new value
		}
		if err := t.renew(ctx, l, e, raw); err != nil {
			return "", err
		}
	}
	return "", errors.New("the token is being renewed elsewhere")
}

// load returns the stored login.
func (t *Tokens) load(ctx context.Context) (l login, e entry, raw string, err error) {
	raw, err = t.Store.Kept(ctx, Name(t.Server))
	if err != nil {
		return l, e, raw, fmt.Errorf("read the login of %s: %w", t.Server, err)
	}
	if raw == "" || json.Unmarshal([]byte(raw), &e) != nil || e.Refused {
		return l, e, raw, t.loginNeeded()
	}
	t.rejected.Store(e.Rejected > 0)
	if time.Now().Before(e.Retry) {
		return l, e, raw, fmt.Errorf("%w: %w", t.loginNeeded(), errRejected)
	}
	if l, err = t.Key.open(e.Sealed, Name(t.Server)); err != nil {
		return l, e, raw, fmt.Errorf("%w: %w", t.loginNeeded(), err)
	}
	t.remember(l.Access, l.Refresh, l.ClientSecret)
	if l.ClientID == t.ClientID && t.ClientSecret != "" { // it can have been replaced
		l.ClientSecret = t.ClientSecret
	}
	if l.URL != t.URL { // a token is not sent to another server than the one it is for
		return l, e, raw, t.loginNeeded()
	}
	return l, e, raw, nil
}

// maxSecrets is the maximum number of secrets that are remembered: those of the newest logins.
const maxSecrets = 12

// remember keeps secrets for Secrets.
func (t *Tokens) remember(secrets ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range secrets {
		if s != "" && !slices.Contains(t.secrets, s) {
			t.secrets = append(t.secrets, s)
		}
	}
	t.secrets = t.secrets[max(0, len(t.secrets)-maxSecrets):]
}

// Secrets returns the tokens and secrets that were used lately: a server can repeat them in its errors.
func (t *Tokens) Secrets() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.secrets)
}

// hold has this gateway alone renew the token, if no other was faster.
func (t *Tokens) hold(ctx context.Context, raw string, e entry, me string) error {
	e.Holder, e.Until = me, time.Now().Add(holding)
	_, err := t.swap(ctx, raw, e)
	return err
}

// renew gets another token and stores it. That is not cut off: the old one can be of no use from then on.
func (t *Tokens) renew(ctx context.Context, l login, e entry, raw string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holding)
	defer cancel()
	refused := error(refusal{"it gave no refresh token"})
	next := l
	if l.Refresh != "" {
		next, refused = grant(ctx, t.Client, l, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh}})
	}
	isRefused := errors.As(refused, &refusal{})
	after := entry{Sealed: e.Sealed, Refused: isRefused, Rejected: e.Rejected}
	if refused == nil {
		var err error
		if after.Sealed, err = t.Key.seal(next, Name(t.Server)); err != nil {
			return err
		}
	}
	switch _, err := t.swap(ctx, raw, after); {
	case err != nil:
		return err
	case isRefused:
		t.Log.Warn("the login of an MCP server has ended", "mcp", t.Server, "err", refused)
		t.Refused(ctx, which(e.Sealed))
		return t.loginNeeded()
	}
	return refused
}

var errRejected = errors.New("the server rejects the tokens of its authorization server")

const (
	firstRest = time.Minute // after a fresh token was rejected; it doubles
	longRest  = time.Hour
	storing   = 5 * time.Second
)

// Reject stores that the MCP server has rejected a token which was just renewed: another one would not help. No gateway
// asks for one for a while, which doubles each time, and Token returns [ErrLogin] meanwhile, as Reject does. A new
// login ends that at once. The owner is told the second time, because the first can be a failure of the server that
// passes.
func (t *Tokens) Reject(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	l, e, raw, err := t.load(ctx)
	if err != nil {
		return err
	}
	if l.Access != token { // another gateway was faster, or someone has logged in
		return errRejected
	}
	e.Rejected++
	rest := min(firstRest<<min(e.Rejected-1, 10), longRest)
	e.Retry = time.Now().Add(rest)
	swapped, err := t.swap(ctx, raw, e)
	switch {
	case err != nil:
		return err
	case swapped && e.Rejected == 1:
		t.Log.Warn("an MCP server rejects fresh tokens; the next attempts come later and later, or after a login", "first", rest, "last", longRest)
	case swapped && e.Rejected == 2:
		t.Refused(ctx, "rejected-"+which(e.Sealed))
	}
	return fmt.Errorf("%w: %w", t.loginNeeded(), errRejected)
}

// Accept stores that the MCP server accepts a token again.
func (t *Tokens) Accept(ctx context.Context, token string) {
	if !t.rejected.Load() {
		return
	}
	l, e, raw, err := t.load(ctx)
	if err == nil && l.Access == token && e.Rejected > 0 {
		e.Rejected, e.Retry = 0, time.Time{}
		_, err = t.swap(ctx, raw, e)
	}
	if err != nil {
		t.Log.Warn("can't store that an MCP server accepts its tokens again", "err", err)
	}
}

// swap stores e in place of raw, and reports whether that was still stored.
func (t *Tokens) swap(ctx context.Context, raw string, e entry) (bool, error) {
	next, err := e.write()
	if err != nil {
		return false, err
	}
	swapped, err := t.Store.Swap(ctx, Name(t.Server), raw, next)
	if err != nil {
		return false, fmt.Errorf("store the login of %s: %w", t.Server, err)
	}
	return swapped, nil
}

// which identifies a login in messages to the owner.
func which(sealed string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(sealed)))[:16] }

// loginNeeded is [ErrLogin] with the remedy.
func (t *Tokens) loginNeeded() error {
	return fmt.Errorf("%w: gateway mcp login %s", ErrLogin, t.Server)
}
