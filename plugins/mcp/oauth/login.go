package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// LoginLimit is the time limit for a login in the browser. A login can't be finished later.
const LoginLimit = 10 * time.Minute

// Login asks a user to log in with a browser. visit shows them an address, and returns the address that the browser was
// sent to in the end, which begins with redirect. Login returns the value to store under [Name]. It fails with the
// error of visit, and if the server grants no tokens.
func Login(ctx context.Context, s Settings, k Key, client *http.Client, redirect string, visit func(ctx context.Context, address string) (string, error)) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, LoginLimit, errors.New("the login has taken too long"))
	defer cancel()
	at, err := discover(ctx, s, client)
	if err != nil {
		return "", err
	}
	l, err := register(ctx, s, at, client, redirect)
	if err != nil {
		return "", err
	}
	state, verifier := rand.Text(), rand.Text()+rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {l.ClientID}, "redirect_uri": {redirect}, "state": {state}, "resource": {at.resource},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}
	if len(at.scopes) > 0 {
		query.Set("scope", strings.Join(at.scopes, " "))
	}
	page, err := url.Parse(at.AuthorizationEndpoint)
	if err != nil {
		return "", errors.New("the authorization endpoint has no usable address")
	}
	page.RawQuery = strings.TrimPrefix(page.RawQuery+"&"+query.Encode(), "&")
	landed, err := visit(ctx, page.String())
	if err != nil {
		return "", err
	}
	code, err := at.codeFrom(landed, state)
	if err != nil {
		return "", err
	}
	l, err = grant(ctx, client, l, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier}})
	if err != nil {
		return "", err
	}
	sealed, err := k.seal(l, Name(s.Server))
	if err != nil {
		return "", err
	}
	return entry{Sealed: sealed}.write()
}

// codeFrom returns the code in the address that the browser was sent to.
func (at authority) codeFrom(address, state string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "", errors.New("this is not the address that you were sent to")
	}
	q := u.Query()
	switch iss := q.Get("iss"); {
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1:
		return "", errors.New("this address does not belong to this login; begin again")
	case iss != "" && iss != at.Issuer, iss == "" && at.AuthorizationResponseIssParameterSupported:
		return "", errors.New("the answer comes from another authorization server; begin again")
	case q.Get("error") != "":
		return "", refusal{code(q.Get("error"))}
	case q.Get("code") == "":
		return "", errors.New("this address has no code; copy all of it")
	}
	return q.Get("code"), nil
}

// register returns a login without tokens, with the configured client, or with one that registers itself.
func register(ctx context.Context, s Settings, at authority, client *http.Client, redirect string) (login, error) {
	l := login{URL: s.URL, Resource: at.resource, Issuer: at.Issuer, TokenURL: at.TokenEndpoint, ClientID: s.ClientID, ClientSecret: s.ClientSecret}
	if l.ClientID != "" {
		methods := at.TokenEndpointAuthMethodsSupported
		if l.ClientSecret != "" && !slices.Contains(methods, "client_secret_post") { // basic is the method of servers that name none
			l.Method = "client_secret_basic"
		}
		return l, nil
	}
	if at.RegistrationEndpoint == "" {
		return l, errors.New("the authorization server registers no clients by itself; register one there, and set oauth.client_id")
	}
	made, err := oauthex.RegisterClient(ctx, at.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, ClientName: "Parley", GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: "none", ApplicationType: "native", Scope: strings.Join(at.scopes, " "),
	}, client)
	if err != nil {
		return l, fmt.Errorf("register at the authorization server: %w", bare(err))
	}
	l.ClientID, l.ClientSecret, l.Method = made.ClientID, made.ClientSecret, made.TokenEndpointAuthMethod
	return l, nil
}
