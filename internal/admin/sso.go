package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"parley/core/access"
	"parley/core/text"
)

// OIDC configures the login with OpenID Connect. Users are owners or staff by their groups; others can't log in.
type OIDC struct {
	Issuer, ClientID, ClientSecret string
	Owners, Staff                  string // groups
}

const (
	callbackPath = Path + "/oidc/callback"
	ssoPrefix    = access.SignedIn // begins the names of users who logged in so
	ssoCookie    = "parley_admin_oidc"
	ssoTime      = 10 * time.Minute // of a login
	ssoLimit     = 10 * time.Second // of a request to the provider
	maxName      = 100              // characters
)

// sso logs users in. It asks for the provider's addresses at the first login, so that the gateway starts without the provider. It is safe
// for concurrent use.
type sso struct {
	OIDC
	mu       sync.Mutex
	provider *oidc.Provider
}

// flow is a login in progress, which the browser keeps in a cookie.
type flow struct{ State, Nonce, Verifier string }

// client returns the provider and the client for a request.
func (s *sso) client(ctx context.Context, r *http.Request) (*oidc.Provider, oauth2.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.provider == nil {
		p, err := oidc.NewProvider(context.WithoutCancel(ctx), s.Issuer) // it fetches keys with this context later
		if err != nil {
			return nil, oauth2.Config{}, fmt.Errorf("reach the provider %s: %w", s.Issuer, err)
		}
		s.provider = p
	}
	back := url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: callbackPath}
	return s.provider, oauth2.Config{
		ClientID: s.ClientID, ClientSecret: s.ClientSecret, Endpoint: s.provider.Endpoint(), RedirectURL: back.String(),
		Scopes: []string{oidc.ScopeOpenID, "profile", "email", "groups"},
	}, nil
}

// limited returns a context for requests to the provider.
func limited(r *http.Request) context.Context {
	return oidc.ClientContext(r.Context(), &http.Client{Timeout: ssoLimit})
}

// begin sends the browser to the provider.
func (s *sso) begin(a *Admin) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if s.Issuer == "" {
			http.NotFound(rw, r)
			return
		}
		f := flow{rand.Text(), rand.Text(), oauth2.GenerateVerifier()}
		_, client, err := s.client(limited(r), r)
		kept, wrong := json.Marshal(f)
		if err = cmp.Or(err, wrong); err != nil {
			a.broken(rw, "log in with OpenID Connect", err)
			return
		}
		setCookie(rw, r, ssoCookie, string(kept), ssoTime)
		http.Redirect(rw, r, client.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), http.StatusSeeOther)
	}
}

// end starts a session for a user who comes back from the provider.
func (s *sso) end(a *Admin) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		who, role, err := s.identify(limited(r), r)
		setCookie(rw, r, ssoCookie, "", -time.Second)
		if err != nil {
			a.Log.Warn("a login with OpenID Connect failed", "err", err)
			a.askToLogIn(rw, http.StatusForbidden, "This login did not work. Try it again, or ask an owner for access.")
			return
		}
		a.begin(rw, r, ssoPrefix+who, role, nil)
	}
}

// identify returns the user who comes back from the provider, and their role.
func (s *sso) identify(ctx context.Context, r *http.Request) (who string, role Role, err error) {
	var f flow
	if kept, err := r.Cookie(ssoCookie); err == nil {
		value, _ := url.QueryUnescape(kept.Value) // a wrong one has no state
		_ = json.Unmarshal([]byte(value), &f)
	}
	q := r.URL.Query()
	if s.Issuer == "" || f.State == "" || q.Get("state") != f.State {
		return "", "", errors.New("the login did not begin in this browser")
	}
	provider, client, err := s.client(ctx, r)
	if err != nil {
		return "", "", err
	}
	token, err := client.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return "", "", fmt.Errorf("exchange the code: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: s.ClientID}).Verify(ctx, raw)
	if err == nil && id.Nonce != f.Nonce {
		err = errors.New("it is of another login")
	}
	var claims struct {
		Email  string
		Groups []string
	}
	if err == nil {
		err = id.Claims(&claims)
	}
	if err != nil {
		return "", "", fmt.Errorf("verify the token: %w", err)
	}
	who = text.OneLine(strings.TrimSpace(claims.Email+" "+id.Subject), maxName)
	switch {
	case s.Owners != "" && slices.Contains(claims.Groups, s.Owners):
		return who, Owner, nil
	case s.Staff != "" && slices.Contains(claims.Groups, s.Staff):
		return who, Staff, nil
	}
	return "", "", errors.New("the user is in no group with access")
}
