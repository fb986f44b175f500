package web

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// LocalPath is where requests of this machine's own programs go, such as `gateway pair`.
const LocalPath = "/local/"

// local lets in programs of this machine that know the token. To everybody else there is nothing here.
func (w *Web) local() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		known := w.opts.LocalToken != "" && subtle.ConstantTimeCompare([]byte(token), []byte(w.opts.LocalToken)) == 1
		if !known || !here(r) || w.opts.Local == nil {
			fail(rw, http.StatusNotFound, "Not found.")
			return
		}
		rw.Header().Set("Cache-Control", "no-store")
		w.opts.Local.ServeHTTP(rw, r)
	})
}

// here says that r comes from this machine, and that nothing says it was sent on for somebody else.
func here(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || r.Header.Get("Origin") != "" {
			return false
		}
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
