package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/connectors/web"
	"parley/connectors/web/login"
	"parley/core/chat"
	"parley/core/text"
)

// Role is the role of a user of the page.
type Role string

// The roles. Owners can do everything; staff see live answers, people, conversations and requests.
const (
	Owner Role = "owner"
	Staff Role = "staff"
)

// The names of stored values. They must not change.
const (
	sessionsName = "admin/sessions"
	codesName    = "admin/codes"
	auditName    = "admin/audit"
)

const (
	cookieName  = "parley_admin"
	saidCookie  = "parley_admin_said"
	sessionTime = 12 * time.Hour
	groupsTime  = time.Hour
	mostCodes   = 20
	codeLength  = 12 // characters with five bits each
	mostEntries = 1000
	maxWhat     = 300        // characters
	maxAbout    = 3200       // characters; the arguments of a call before and after a change
	operator    = "operator" // the user who has the code of the gateway's machine
)

// code is a stored code of an account.
type code struct {
	Hash string
	Who  chat.EntityID
	Ends time.Time
}

// NewCode returns a code for one login of an account within [login.CodeTime], in place of an earlier one. It fails with the error of the
// store.
func NewCode(ctx context.Context, store login.Store, who chat.EntityID) (string, error) {
	made, now := rand.Text()[:codeLength], time.Now()
	err := login.Change(ctx, store, codesName, func(all *[]code) error {
		*all = slices.DeleteFunc(*all, func(c code) bool { return c.Who == who || now.After(c.Ends) })
		*all = append((*all)[max(0, len(*all)-mostCodes+1):], code{login.Hash(made), who, now.Add(login.CodeTime)})
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("store a code for the operator's page: %w", err)
	}
	return made[:4] + "-" + made[4:8] + "-" + made[8:], nil
}

// redeem uses up a code, of an account or of the gateway's machine, and returns who can log in with it. [chat.ErrNotFound] if the code
// is wrong, was used, or has expired.
func (a *Admin) redeem(ctx context.Context, written string) (who string, role Role, err error) {
	hash := login.Hash(login.Plain(written))
	var found code
	err = login.Change(ctx, a.Memo, codesName, func(all *[]code) error {
		i := slices.IndexFunc(*all, func(c code) bool { return login.Same(c.Hash, hash) && time.Now().Before(c.Ends) })
		if i < 0 {
			return chat.ErrNotFound
		}
		found = (*all)[i]
		*all = slices.Delete(*all, i, i+1)
		return nil
	})
	if errors.Is(err, chat.ErrNotFound) {
		return operator, Owner, login.Sessions{Store: a.Memo}.Spend(ctx, written)
	}
	if err == nil {
		role, err = a.roleOf(ctx, login.Session{Who: string(found.Who)})
	}
	return string(found.Who), role, err
}

// visit is a request of a user who is logged in.
type visit struct {
	*http.Request
	page    route
	session login.Session
	role    Role
	err     error // the first error of the store
}

// check returns a function that keeps an error in the visit, except that there is no such thing, and returns the value.
func check[T any](value T, err error) func(*visit) T {
	return func(v *visit) T {
		if v.err == nil {
			v.err = chat.Unless(err, chat.ErrNotFound)
		}
		return value
	}
}

// accountOf returns the account of a session, or "" if it has none on a platform.
func accountOf(s login.Session) chat.EntityID {
	if s.Who == operator || strings.HasPrefix(s.Who, ssoPrefix) {
		return ""
	}
	return chat.EntityID(s.Who)
}

// Reachable reports whether a user is logged in. It fails with the error of the store.
func Reachable(ctx context.Context, store login.Store) (bool, error) {
	all, err := login.Sessions{Store: store, Name: sessionsName}.List(ctx)
	return len(all) > 0, err
}

// roleOf returns the role of a session now, or [chat.ErrNotFound]. That of an account follows the configuration. Groups of single sign-on
// are read at a login, so a session lasts shorter with it.
func (a *Admin) roleOf(ctx context.Context, s login.Session) (role Role, err error) {
	if strings.HasPrefix(s.Who, ssoPrefix) && time.Since(s.Since) > groupsTime {
		return "", chat.ErrNotFound
	}
	role = Role(s.Role)
	if account := accountOf(s); account != "" {
		role, err = a.Gateway.Role(ctx, account)
	}
	if err == nil && role == "" {
		err = chat.ErrNotFound
	}
	return role, err
}

// find returns the session of a request and its role, or [chat.ErrNotFound].
func (a *Admin) find(r *http.Request) (s login.Session, role Role, err error) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return s, "", chat.ErrNotFound
	}
	if s, err = a.sessions.Find(r.Context(), cookie.Value); err == nil {
		role, err = a.roleOf(r.Context(), s)
	}
	return s, role, err
}

// loggedIn serves a page to users with its role. Others get the login page.
func (a *Admin) loggedIn(page route, next func(http.ResponseWriter, *visit)) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		s, role, err := a.find(r)
		switch {
		case errors.Is(err, chat.ErrNotFound) && r.Method == http.MethodPost:
			a.askToLogIn(rw, http.StatusUnauthorized, "Your session has ended.")
		case errors.Is(err, chat.ErrNotFound):
			http.Redirect(rw, r, Path+"/login", http.StatusSeeOther)
		case err != nil:
			a.broken(rw, "find a session", err)
		case role != Owner && page.Role == Owner:
			http.Error(rw, "Only owners can open this page.", http.StatusForbidden)
		default:
			next(rw, &visit{r, page, s, role, nil})
		}
	})
}

func (a *Admin) askToLogIn(rw http.ResponseWriter, status int, problem string) {
	a.render(rw, status, "login", frame{Title: "Log in", Agent: a.Agent.Name, Said: problem, View: a.sso.Issuer})
}

// logIn exchanges a code for a session. The web connector limits its attempts.
func (a *Admin) logIn(rw http.ResponseWriter, r *http.Request) {
	who, role, err := a.redeem(r.Context(), r.PostFormValue("code"))
	if errors.Is(err, chat.ErrNotFound) {
		a.askToLogIn(rw, http.StatusForbidden, "This code is wrong, was used, or has expired.")
		return
	}
	a.begin(rw, r, who, role, err)
}

// begin starts a session, unless there is an error, and opens the first page.
func (a *Admin) begin(rw http.ResponseWriter, r *http.Request, who string, role Role, err error) {
	token := ""
	if err == nil {
		err = a.record(r, who, "log in", string(role))
	}
	if err == nil {
		token, err = a.sessions.Begin(r.Context(), login.Session{Device: web.Device(r), Who: who, Role: string(role)})
	}
	if err != nil {
		a.broken(rw, "log in", err)
		return
	}
	setCookie(rw, r, cookieName, token, sessionTime)
	http.Redirect(rw, r, Path, http.StatusSeeOther)
}

func (a *Admin) logOut(rw http.ResponseWriter, r *http.Request) {
	s, _, err := a.find(r)
	if err == nil {
		err = a.sessions.End(r.Context(), s.ID)
	}
	if chat.Unless(err, chat.ErrNotFound) != nil {
		a.broken(rw, "log out", err)
		return
	}
	setCookie(rw, r, cookieName, "", -time.Second)
	http.Redirect(rw, r, Path+"/login", http.StatusSeeOther)
}

// setCookie sets a cookie of the page. No script reads it, and other sites send it only with links, which change nothing.
func setCookie(rw http.ResponseWriter, r *http.Request, name, value string, lasts time.Duration) {
	http.SetCookie(rw, &http.Cookie{
		Name: name, Value: url.QueryEscape(value), Path: Path, MaxAge: int(lasts / time.Second), HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: r.URL.Scheme == "https",
	})
}

// entry is one line of the audit log.
type entry struct {
	At                     time.Time
	Who, From, What, About string
}

// record adds an entry to the audit log. It fails with the error of the store.
func (a *Admin) record(r *http.Request, who, what, about string) error {
	return Record(r.Context(), a.Memo, who, r.RemoteAddr, what, about)
}

// Record adds an entry to the audit log, which keeps the newest. It fails with the error of the store.
func Record(ctx context.Context, store login.Store, who, from, what, about string) error {
	err := login.Change(ctx, store, auditName, func(all *[]entry) error {
		*all = append(*all, entry{time.Now(), who, from, text.OneLine(what, maxWhat), text.OneLine(shortID(about), maxAbout)})
		*all = (*all)[max(0, len(*all)-mostEntries):]
		return nil
	})
	if err != nil {
		return fmt.Errorf("write to the audit log: %w", err)
	}
	return nil
}
