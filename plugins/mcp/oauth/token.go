package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// refusal is an answer of an authorization server that a repetition does not change.
type refusal struct{ code string }

func (r refusal) Error() string {
	if r.code == "invalid_client" {
		return "the authorization server doesn't accept the client; check oauth.client_id and oauth.client_secret (invalid_client)"
	}
	return "the authorization server refused: " + r.code
}

// grant asks the token endpoint of l for tokens, and returns l with them. Errors hold nothing that the server wrote
// beyond a code: it could repeat a secret.
func grant(ctx context.Context, client *http.Client, l login, form url.Values) (login, error) {
	form.Set("resource", l.Resource)
	form.Set("client_id", l.ClientID)
	if l.ClientSecret != "" && l.Method != "client_secret_basic" {
		form.Set("client_secret", l.ClientSecret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return l, errors.New("the token endpoint has no usable address")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if l.ClientSecret != "" && l.Method == "client_secret_basic" {
		req.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(l.ClientSecret))
	}
	begun := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return l, fmt.Errorf("ask for a token: %w", bare(err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return l, fmt.Errorf("read the token: %w", bare(err))
	}
	return granted(l, res.StatusCode, body, begun)
}

// granted reads the answer to a request that was sent at begun.
func granted(l login, status int, body []byte, begun time.Time) (login, error) {
	var answer struct {
		Access  string      `json:"access_token"`
		Refresh string      `json:"refresh_token"`
		Type    string      `json:"token_type"`
		Seconds json.Number `json:"expires_in"`
		Code    string      `json:"error"`
	}
	unread := json.Unmarshal(body, &answer)
	switch {
	case answer.Code != "" && (status == http.StatusBadRequest || status == http.StatusUnauthorized):
		return l, refusal{code(answer.Code)}
	case status != http.StatusOK:
		return l, fmt.Errorf("the token endpoint answered %d", status)
	case unread != nil || answer.Access == "" || !strings.EqualFold(answer.Type, "Bearer") || strings.ContainsFunc(answer.Access, unsafe):
		return l, errors.New("the token endpoint answered without a usable token")
	}
	l.Access, l.Refresh, l.Expires = answer.Access, cmp.Or(answer.Refresh, l.Refresh), time.Time{}
	if n, err := answer.Seconds.Int64(); err == nil && n > 0 {
		l.Expires = begun.Add(time.Duration(min(n, maxSeconds)) * time.Second)
	}
	return l, nil
}

const maxSeconds = 10 * 365 * 24 * 3600

// unsafe reports whether r can't be part of a header.
func unsafe(r rune) bool { return r <= ' ' || r > '~' }

// code returns an error code as RFC 6749 allows it, without anything else.
func code(written string) string {
	if len(written) > 40 || strings.ContainsFunc(written, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		return "an unknown error"
	}
	return written
}

// bare returns err without the address, which can hold a code.
func bare(err error) error {
	for outer := (*url.Error)(nil); errors.As(err, &outer); {
		err = outer.Err
	}
	return err
}
