package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// authority is an authorization server, and the requested resource and scopes.
type authority struct {
	*oauthex.AuthServerMeta
	resource string // that the tokens are for, as the server calls itself
	scopes   []string
}

// Discover returns the address of the authorization server of s. It fails if that can't be reached, or lacks a required
// feature.
func Discover(ctx context.Context, s Settings, client *http.Client) (string, error) {
	at, err := discover(ctx, s, client)
	if err != nil {
		return "", err
	}
	return at.Issuer, nil
}

// discover finds the authorization server: the MCP server names it (RFC 9728), and it describes itself (RFC 8414).
func discover(ctx context.Context, s Settings, client *http.Client) (at authority, err error) {
	if err := secure(s.URL); err != nil {
		return at, fmt.Errorf("log in to %s: %w", s.Server, err)
	}
	issuer, resource, scopes, err := authorityOf(ctx, s, client)
	if err != nil {
		return at, err
	}
	if at.AuthServerMeta, err = auth.GetAuthServerMetadata(ctx, issuer, client); err != nil {
		return at, fmt.Errorf("read about the authorization server: %w", bare(err))
	}
	switch {
	case at.AuthServerMeta == nil:
		return at, fmt.Errorf("%s does not describe itself as an authorization server", issuer)
	case at.AuthorizationEndpoint == "" || at.TokenEndpoint == "":
		return at, errors.New("the authorization server has no endpoint to log in at")
	case !slices.Contains(at.CodeChallengeMethodsSupported, "S256"):
		return at, errors.New("the authorization server has no PKCE with S256, which protects the login")
	}
	at.resource, at.scopes = resource, s.Scopes
	if len(at.scopes) == 0 {
		at.scopes = scopes
	}
	if slices.Contains(at.ScopesSupported, "offline_access") && !slices.Contains(at.scopes, "offline_access") {
		at.scopes = append(slices.Clone(at.scopes), "offline_access") // otherwise the login would end with its first token
	}
	return at, nil
}

// authorityOf returns the authorization server that the MCP server names, and the scopes that it asks for. Without a name it
// is the server itself.
func authorityOf(ctx context.Context, s Settings, client *http.Client) (issuer, resource string, scopes []string, err error) {
	challenge := challengeOf(ctx, s.URL, client)
	described, err := metadata(ctx, s.URL, challenge["resource_metadata"], client)
	if err != nil {
		return "", "", nil, err
	}
	scopes = strings.Fields(challenge["scope"])
	all, resource := []string{}, s.URL
	if described != nil {
		all, resource = described.AuthorizationServers, described.Resource
		if len(scopes) == 0 {
			scopes = described.ScopesSupported
		}
	} else if u, err := url.Parse(s.URL); err == nil {
		all = []string{u.Scheme + "://" + u.Host}
	}
	switch {
	case s.Issuer != "" && slices.ContainsFunc(all, func(a string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(s.Issuer, "/") }):
		return s.Issuer, resource, scopes, nil
	case s.Issuer != "":
		return "", "", nil, errors.New("the server does not name oauth.issuer as its authorization server")
	case len(all) == 0:
		return "", "", nil, errors.New("the server names no authorization server")
	}
	return all[0], resource, scopes, nil
}

// challengeOf returns the parameters of the server's challenge to a request without a token.
func challengeOf(ctx context.Context, address string, client *http.Client) map[string]string {
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := client.Do(req)
	if err != nil {
		return nil // the metadata has usual places too
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxBody))
	all, err := oauthex.ParseWWWAuthenticate(res.Header.Values("WWW-Authenticate"))
	for _, c := range all {
		if err == nil && c.Scheme == "bearer" {
			return c.Params
		}
	}
	return nil
}

// metadata returns the server's description of itself as a resource: at the address of its challenge, below its own
// path, or at the root; nil if it says nothing.
func metadata(ctx context.Context, address, at string, client *http.Client) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of the server can't be read")
	}
	root := u.Scheme + "://" + u.Host
	places := [][2]string{{at, address}, {root + "/.well-known/oauth-protected-resource/" + strings.TrimLeft(u.Path, "/"), address}, {root + "/.well-known/oauth-protected-resource", root}}
	for _, place := range places {
		if place[0] == "" || secure(place[0]) != nil {
			continue
		}
		if found, err := oauthex.GetProtectedResourceMetadata(ctx, place[0], place[1], client); err == nil && found != nil {
			return found, nil
		}
	}
	return nil, nil
}
