package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley/connectors/web/login"
	"parley/core/chat"
)

const (
	sessionCookie = "parley_owner"
	maxLogin      = 1 << 10 // bytes of a request with a code
	loginsEach    = 5       // attempts of an address in the time of a code
	loginsAll     = 1000    // attempts of all addresses; a code has 60 random bits
)

// session returns the session of the browser that makes r, or [chat.ErrNotFound]. Only the gateway's own page has one: for
// requests that another site makes, the cookie does not count.
func (w *Web) session(r *http.Request) (login.Session, error) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || !firstParty(r) {
		return login.Session{}, chat.ErrNotFound
	}
	return w.sessions.Find(r.Context(), cookie.Value)
}

// firstParty reports whether no other site makes r. Browsers say so by Sec-Fetch-Site, or at least by Origin if the request
// changes something; the replies to other requests can't be read by other sites.
func firstParty(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	return new(http.CrossOriginProtection).Check(r) == nil && (r.Header.Get("Origin") == "" || ownOrigin(r))
}

// ownOrigin reports whether the page of the gateway itself sent r.
func ownOrigin(r *http.Request) bool {
	u, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// loginAPI is the part of the web API that logs the owner in and out.
type loginAPI struct{ web *Web }

// loginRequest has the code of a login, and loginReply reports whether the browser is the owner's.
type (
	loginRequest struct {
		Code string `json:"code"`
	}
	loginReply struct {
		Owner bool `json:"owner"`
	}
)

// loggedIn tells the page whether it belongs to the owner: GET /api/login.
func (a loginAPI) loggedIn(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	_, err := a.web.session(r)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return nil, a.web.failures.refuse("find a session", err)
	}
	return loginReply{err == nil}, nil
}

// logIn exchanges a code for a cookie: POST /api/login. Only the gateway's own page can, and only a few times.
func (a loginAPI) logIn(rw http.ResponseWriter, r *http.Request) (any, *refusal) {
	if !firstParty(r) || !ownOrigin(r) {
		return nil, refused(http.StatusForbidden, "refused.own_page_login")
	}
	if wait := max(a.web.logins.take(caller{from: a.web.guard.client(r)}), a.web.allLogins.take(caller{})); wait > 0 {
		no := refused(http.StatusTooManyRequests, "refused.attempts")
		no.wait = wait
		return nil, no
	}
	var body loginRequest
	if no := checkJSON(r, maxLogin); no != nil {
		return nil, no
	}
	if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxLogin)).Decode(&body); err != nil {
		return nil, refused(http.StatusBadRequest, "The request must be the JSON object {\"code\": …}.")
	}
	token, err := a.web.sessions.Redeem(r.Context(), body.Code, Device(r))
	switch {
	case errors.Is(err, chat.ErrNotFound):
		return nil, refused(http.StatusForbidden, "refused.code")
	case err != nil:
		return nil, a.web.failures.refuse("log in", err)
	}
	http.SetCookie(rw, pageCookie(r, sessionCookie, token, login.SessionTime))
	return loginReply{true}, nil
}

// logOut ends the session of the browser: DELETE /api/login.
func (a loginAPI) logOut(rw http.ResponseWriter, r *http.Request) (any, *refusal) {
	s, err := a.web.session(r)
	if err == nil {
		err = a.web.sessions.End(r.Context(), s.ID)
	}
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return nil, a.web.failures.refuse("log out", err)
	}
	http.SetCookie(rw, pageCookie(r, sessionCookie, "", -time.Second))
	return loginReply{false}, nil
}

// pageCookie returns a cookie of the gateway's own page. No script reads it, and no other site sends it. Which scheme the browser uses
// is known from its Origin: a proxy may speak TLS.
func pageCookie(r *http.Request, name, token string, lasts time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: token, Path: "/", MaxAge: int(lasts / time.Second), HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: strings.HasPrefix(r.Header.Get("Origin"), "https:"),
	}
}

// Device describes the browser that makes r in a few words.
func Device(r *http.Request) string {
	agent := r.UserAgent()
	named := func(among ...string) string {
		for _, one := range among {
			if sign, name, _ := strings.Cut(one, "="); strings.Contains(agent, sign) {
				return name
			}
		}
		return "unknown"
	}
	return named("Edg=Edge", "OPR=Opera", "Firefox=Firefox", "Chrome=Chrome", "Safari=Safari") + " on " +
		named("Android=Android", "iPhone=iPhone", "iPad=iPad", "Windows=Windows", "Mac OS=macOS", "Linux=Linux")
}
