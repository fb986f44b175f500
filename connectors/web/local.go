package web

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// LocalPath is the path of requests from programs on the same machine, such as `gateway pair`.
const LocalPath = "/local/"

// trusted reports whether a program on the same machine that has the token makes r. The comparison takes the same time for
// every token.
func (w *Web) trusted(r *http.Request) bool {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return w.opts.LocalToken != "" && subtle.ConstantTimeCompare([]byte(token), []byte(w.opts.LocalToken)) == 1 && here(r)
}

// local serves programs on the same machine that have the token. For all other requests the path does not exist: the
// reply doesn't tell which condition failed.
func (w *Web) local() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !w.trusted(r) || w.opts.Local == nil {
			fail(rw, http.StatusNotFound, "Not found.")
			return
		}
		rw.Header().Set("Cache-Control", "no-store")
		w.opts.Local.ServeHTTP(rw, r)
	})
}

// here reports whether r comes from this machine and was not forwarded by a proxy, nor sent by a browser's page. A
// proxy on the same machine makes requests of the whole world look local, so any header of one refuses the request. The
// peer may also have the address on which it was received: that is how a program on a machine reaches it by its own
// name.
func here(r *http.Request) bool {
	if forwarded(r) || r.Header.Get("Origin") != "" {
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
