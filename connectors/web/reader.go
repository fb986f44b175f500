package web

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/core/chat"
	"parley/internal/lang"
	"parley/internal/rest"
)

// Owner is the account of the person who runs the gateway, in every conversation: a program that sends the local token, or a
// browser that is logged in. It can't be the account of a visitor, whose name ends with a conversation's id.
const Owner chat.EntityID = Name + "/owner"

// reader describes the sender of a request. The sender's rights follow from it.
type reader struct {
	id    chat.EntityID // the visitor, the account, the key or [Owner]; empty: the request has no token
	owner bool
	known bool // id is an account of the site or a key: it has its own limits at every address
	// account reports whether id is an account, which is the same person in all their conversations.
	account   bool
	name      string    // of the account; can be empty
	perMinute int       // messages of a key; 0: as of a visitor
	ends      time.Time // of the token; zero: it has no end
	// valid reports whether the key is not revoked; nil for all who have none.
	valid func(context.Context) bool
	// details reports whether they see how answers come about: names, parameters and raw results of calls, and names of
	// models and services. All others see what [answer.Tool.Public] returns.
	details bool
}

// author returns the account of the reader in a conversation. A visitor without an account has one for each.
func (r reader) author(room chat.RoomID) chat.EntityID {
	if r.owner {
		return Owner
	}
	if r.account {
		return r.id
	}
	return visitor(room)
}

// private reports whether only this machine can reach the gateway: it listens on loopback, and no option names a proxy
// or another site that brings visitors.
func private(o Options) bool {
	if o.Public || len(o.Proxies) > 0 || !onLoopback(o.Listener.Addr().String()) {
		return false
	}
	return !slices.ContainsFunc(o.Origins, func(origin string) bool {
		u, err := url.Parse(origin)
		return err != nil || !onLoopback(u.Host)
	})
}

// onLoopback reports whether a host, with a port or without, is this machine alone.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// forwarded reports whether a proxy has passed r on. A proxy on this machine makes requests of the whole world look local.
func forwarded(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || name == "Forwarded" || name == "Via" || name == "X-Real-Ip" {
			return true
		}
	}
	return false
}

// LocalPath is the path of requests from programs on the same machine, such as `gateway pair`.
const LocalPath = "/local/"

// trusted reports whether a program on the same machine that has the token makes r. The comparison takes the same time for
// every token.
func (w *Web) trusted(r *http.Request) bool {
	token, _ := bearerOf(r)
	return w.opts.LocalToken != "" && subtle.ConstantTimeCompare([]byte(token), []byte(w.opts.LocalToken)) == 1 && here(r)
}

// local serves programs on the same machine that have the token. For all other requests the path does not exist: the
// reply doesn't reveal the failed condition.
func (w *Web) local() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !w.trusted(r) || w.opts.Local == nil {
			fail(rw, http.StatusNotFound, "refused.not_found")
			return
		}
		rw.Header().Set("Cache-Control", "no-store")
		w.opts.Local.ServeHTTP(rw, r)
	})
}

// SetupPath is the path of the page that sets the gateway up.
const SetupPath = "/setup"

// nearbySetup serves the page that sets the gateway up, to browsers on this machine, and to no page of another site. For all other machines the
// path does not exist.
func nearbySetup(page http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if page == nil || !nearby(r) {
			fail(rw, http.StatusNotFound, "refused.not_found")
			return
		}
		if !firstParty(r) {
			fail(rw, http.StatusForbidden, "refused.own_page")
			return
		}
		h := rw.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers send the form with the Origin null
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		r.Body = http.MaxBytesReader(rw, r.Body, maxSetup)
		page.ServeHTTP(rw, r)
	})
}

const maxSetup = 64 << 10 // bytes of the form

// operators serves the operator's page: to browsers on this machine, and to others over TLS, which the gateway or a trusted proxy ends. For all
// other requests the path does not exist. Attempts to log in are limited.
func (d door) operators(page http.Handler) http.Handler {
	w := d.web
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		proxied := err == nil && w.guard.trusted(peer.Addr().Unmap()) && r.Header.Get("X-Forwarded-Proto") == "https"
		safe := r.TLS != nil || proxied
		if page == nil || !safe && !nearby(r) {
			fail(rw, http.StatusNotFound, "refused.not_found")
			return
		}
		from := w.guard.client(r)
		if r.Method == http.MethodPost && r.URL.Path == adminPath+"/login" {
			if wait := max(w.logins.take(caller{from: from}), w.allLogins.take(caller{})); wait > 0 {
				retryLater(rw, wait)
				http.Error(rw, lang.In(r.Header.Get("Accept-Language")).Say("refused.attempts"), http.StatusTooManyRequests)
				return
			}
		}
		ctx, end := context.WithCancelCause(r.Context())
		defer end(nil)
		go func() { // it ends with the request
			select {
			case <-w.leaving:
				end(chat.ErrShutdown)
			case <-ctx.Done():
			}
		}()
		r = r.Clone(ctx)
		r.RemoteAddr, r.URL.Scheme, r.URL.Host = from.Addr().String(), "http", r.Host
		if safe {
			r.URL.Scheme = "https"
		}
		page.ServeHTTP(rw, r)
	})
}

// adminPath is the path of the operator's page.
const adminPath = "/admin"

// here reports whether a program on this machine sends r: it is nearby, and no browser's page sends it.
func here(r *http.Request) bool { return r.Header.Get("Origin") == "" && nearby(r) }

// nearby reports whether r comes from this machine and was not forwarded by a proxy. A
// proxy on the same machine makes requests of the whole world look local, so any header of one refuses the request. The
// peer may also have the server's own address, as a program does that uses the machine's name.
func nearby(r *http.Request) bool {
	if forwarded(r) {
		return false
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	own, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if own == nil {
		return peer.Addr().Unmap().IsLoopback()
	}
	mine, err := netip.ParseAddrPort(own.String())
	return peer.Addr().Unmap().IsLoopback() || err == nil && mine.Addr().Unmap() == peer.Addr().Unmap()
}

// Reasons to end a stream whose reader may not read any more.
var (
	errExpired = errors.New("the token has expired")
	errRevoked = errors.New("the key was revoked")
)

// barred refuses a reader who may not read any more. It returns nil for any other error.
func barred(err error) *refusal {
	var no *refusal
	switch {
	case errors.Is(err, errExpired):
		no = refused(http.StatusUnauthorized, "refused.session_expired")
		no.code = codeExpired
	case errors.Is(err, errRevoked):
		no = refused(http.StatusUnauthorized, "This API key was revoked.")
		no.code = codeRevoked
	}
	return no
}

// keyPause is how often a stream checks its key. The list can be as old as identity.KeyFresh then, and both together are less
// than five seconds.
const keyPause = time.Second

// allowed returns ctx for as long as the reader may read. Its cause is errExpired or errRevoked then.
func (r reader) allowed(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.ends.IsZero() {
		return ctx, func() {}
	}
	ctx, cancel := context.WithDeadlineCause(ctx, r.ends, errExpired)
	if r.valid == nil {
		return ctx, cancel
	}
	ctx, revoke := context.WithCancelCause(ctx)
	go func() {
		for rest.For(ctx, keyPause) == nil {
			if !r.valid(ctx) {
				revoke(errRevoked)
			}
		}
	}()
	return ctx, func() { revoke(nil); cancel() }
}
