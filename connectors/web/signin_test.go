package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/web/login"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// asker is a program or a browser that talks to a gateway.
type asker struct {
	*testing.T
	client *http.Client
	author atomic.Value // of the last message, as the runtime is told
}

// submit implements the gateway's handler.
func (a *asker) submit(in chat.Inbound) (chat.Accepted, error) {
	if m, ok := in.(chat.Message); ok {
		a.author.Store(m.Author)
	}
	return chat.Accepted{}, nil
}

// do makes a request with headers, written as "Name: value".
func (a *asker) do(method, path, body string, headers ...string) *http.Response {
	a.Helper()
	req := require.Value(http.NewRequestWithContext(context.Background(), method, "http://127.0.0.1:8080"+path, strings.NewReader(body)))(a)
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp := require.Value(a.client.Do(req))(a)
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp
}

// is checks who a message is from.
func (a *asker) is(what string, status int, want chat.EntityID, headers ...string) {
	a.Helper()
	a.author.Store(chat.EntityID(""))
	resp := a.do("POST", "/api/conversations/c/messages/stream", `{"text":"hi"}`, headers...)
	if got := a.author.Load(); resp.StatusCode != status || got != want {
		a.Errorf("%s: %d, from %q; want %d, %q", what, resp.StatusCode, got, status, want)
	}
}

const (
	ownPage   = "Origin: http://127.0.0.1:8080"
	localhost = "Origin: http://localhost:3000" // a site that shows the chat, of the same machine
)

// loginCode returns a new code, and a request with it.
func loginCode(t *testing.T, s login.Sessions) (code, body string) {
	t.Helper()
	code = require.Value(s.NewCode(context.Background()))(t)
	written, _ := json.Marshal(map[string]string{"code": strings.ToLower(code)})
	return code, string(written)
}

// SE-24: a code makes one browser the owner's, once, within five minutes, on the gateway's own page. No other site gains by it.
func TestLogIn(t *testing.T) {
	memo := &connectortest.Memory{}
	sessions := login.Sessions{Store: memo}
	a := &asker{T: t}
	edit := func(o *Options) {
		o.Memo, o.Origins = memo, []string{"http://localhost:3000"}
	}
	serve(t, edit, a.submit, func(client *http.Client, _ *answer.Answer) {
		a.client = client
		_, body := loginCode(t, sessions)
		for what, headers := range map[string][]string{"a program": nil, "a site that shows the chat": {localhost}, "a frame": {ownPage, "Sec-Fetch-Site: same-site"}} {
			if resp := a.do("POST", "/api/login", body, headers...); resp.StatusCode != http.StatusForbidden || len(resp.Cookies()) > 0 {
				t.Errorf("%s logs in: %d", what, resp.StatusCode)
			}
		}
		time.Sleep(login.CodeTime)
		if resp := a.do("POST", "/api/login", body, ownPage); resp.StatusCode != http.StatusForbidden {
			t.Errorf("an expired code: %d", resp.StatusCode)
		}
		_, body = loginCode(t, sessions)
		resp := a.do("POST", "/api/login", body, ownPage, "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0")
		if resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 1 {
			t.Fatalf("the right code: %d", resp.StatusCode)
		}
		made := resp.Cookies()[0]
		if !made.HttpOnly || made.SameSite != http.SameSiteStrictMode || made.Secure || made.MaxAge != 30*24*3600 || made.Path != "/" {
			t.Errorf("the cookie is %s", made)
		}
		if resp := a.do("POST", "/api/login", body, ownPage); resp.StatusCode != http.StatusForbidden {
			t.Errorf("the same code again: %d", resp.StatusCode)
		}
		cookie := "Cookie: " + made.Name + "=" + made.Value
		a.is("no cookie", 200, "web/c", ownPage)
		a.is("the page", 200, Owner, ownPage, cookie, "Sec-Fetch-Site: same-origin")
		a.is("the page of an old browser", 200, Owner, ownPage, cookie)
		a.is("a site that shows the chat", 200, "web/c", localhost, cookie, "Sec-Fetch-Site: same-site")
		a.is("that in an old browser", 200, "web/c", localhost, cookie)
		a.is("another cookie", 200, "web/c", ownPage, "Cookie: "+made.Name+"=x")
		if list, err := sessions.List(context.Background()); err != nil || len(list) != 1 || list[0].Device != "Firefox on Linux" || strings.Contains(made.Value, list[0].Hash) {
			t.Errorf("listed is %+v, %v", list, err)
		}
		a.do("DELETE", "/api/login", "", localhost, cookie)
		a.is("a site that shows the chat can't log out", 200, Owner, ownPage, cookie)
		a.do("DELETE", "/api/login", "", ownPage, cookie)
		a.is("after a log-out", 200, "web/c", ownPage, cookie)
	})
}

// Attempts are limited for each address. A login holds at other replicas and after a restart, ends after 30 days, and at once
// when it is revoked. Behind TLS its cookie is sent over TLS only.
func TestLoginsLast(t *testing.T) {
	memo := &connectortest.Memory{}
	sessions, cookies := login.Sessions{Store: memo}, []string{}
	edit := func(o *Options) {
		o.ClaimUntil = time.Now().AddDate(1, 0, 0)
		o.Memo, o.Origins, o.Public = memo, []string{"https://127.0.0.1:8080"}, true
	}
	a := &asker{T: t}
	serve(t, edit, a.submit, func(client *http.Client, _ *answer.Answer) {
		a.client = client
		for i := range loginsEach + 1 {
			if resp := a.do("POST", "/api/login", `{"code":"AAAA-BBBB-CCCC"}`, ownPage); (resp.StatusCode == http.StatusTooManyRequests) != (i == loginsEach) {
				t.Errorf("attempt %d: %d", i, resp.StatusCode)
			}
		}
		time.Sleep(login.CodeTime)
		for range 2 {
			_, body := loginCode(t, sessions)
			made := a.do("POST", "/api/login", body, "Origin: https://127.0.0.1:8080").Cookies()[0]
			if !made.Secure {
				t.Errorf("the cookie is %s", made)
			}
			cookies = append(cookies, "Cookie: "+made.Name+"="+made.Value)
		}
	})
	serve(t, edit, a.submit, func(client *http.Client, _ *answer.Answer) { // time begins where it began before
		a.client = client
		a.is("the next process", 200, Owner, ownPage, cookies[0])
		list, err := sessions.List(context.Background())
		if err != nil || len(list) != 2 {
			t.Fatalf("listed is %+v, %v", list, err)
		}
		require.NoError(t, sessions.End(context.Background(), list[0].ID))
		a.is("revoked", 200, "web/c", ownPage, cookies[0])
		a.is("the other", 200, Owner, ownPage, cookies[1])
		time.Sleep(login.SessionTime + login.CodeTime)
		a.is("after 30 days", 200, "web/c", ownPage, cookies[1])
	})
}

// A program with the local token is the owner's, from this machine only. One with another token is told so.
func TestLocalTokenOfTheOwner(t *testing.T) {
	a := &asker{T: t}
	serve(t, func(o *Options) { o.LocalToken = "t0ken" }, a.submit, func(client *http.Client, _ *answer.Answer) {
		a.client = client
		a.is("the token", 200, Owner, "Authorization: Bearer t0ken")
		a.is("another one", 401, "", "Authorization: Bearer token")
		a.is("none", 401, "", "Authorization: Bearer ")
		a.is("a page", 401, "", "Authorization: Bearer t0ken", ownPage)
		a.is("through a proxy", 401, "", "Authorization: Bearer t0ken", "X-Forwarded-For: 198.51.100.7")
		a.is("no token", 200, "web/c")
	})
}
