package web

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// Only programs on this machine with the token are allowed, and no forwarded requests.
func TestLocal(t *testing.T) {
	w := &Web{opts: Options{LocalToken: "right", Local: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusOK) })}}
	for name, c := range map[string]struct {
		peer, own, token, header string
		want                     int
	}{
		"this machine":               {"127.0.0.1:9", "127.0.0.1:80", "right", "", 200},
		"this machine, IPv6":         {"[::1]:9", "[::1]:80", "right", "", 200},
		"its own outer address":      {"192.0.2.1:9", "192.0.2.1:80", "right", "", 200},
		"another machine":            {"192.0.2.2:9", "192.0.2.1:80", "right", "", 404},
		"a wrong token":              {"127.0.0.1:9", "127.0.0.1:80", "wrong", "", 404},
		"no token":                   {"127.0.0.1:9", "127.0.0.1:80", "", "", 404},
		"forwarded":                  {"127.0.0.1:9", "127.0.0.1:80", "right", "X-Forwarded-For", 404},
		"forwarded, standard header": {"127.0.0.1:9", "127.0.0.1:80", "right", "Forwarded", 404},
		"from a page":                {"127.0.0.1:9", "127.0.0.1:80", "right", "Origin", 404},
	} {
		r := between(t, c.peer, c.own, httptest.NewRequest(http.MethodPost, LocalPath+"pair", nil))
		r.Header.Set("Authorization", "Bearer "+c.token)
		if c.header != "" {
			r.Header.Set(c.header, "192.0.2.1")
		}
		rw := httptest.NewRecorder()
		w.local().ServeHTTP(rw, r)
		if rw.Code != c.want {
			t.Errorf("%s: %d; want %d", name, rw.Code, c.want)
		}
	}
}

// between is r as it comes from peer to own.
func between(t *testing.T, peer, own string, r *http.Request) *http.Request {
	t.Helper()
	addr, err := net.ResolveTCPAddr("tcp", own)
	if err != nil {
		t.Fatal(err)
	}
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(addr)))
	r.RemoteAddr = peer
	return r
}

// The page that sets a gateway up is for browsers on this machine, and for no other site's page.
func TestSetupIsForThisMachine(t *testing.T) {
	page := nearbySetup(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusOK) }))
	for name, c := range map[string]struct {
		peer, own, header, value string
		want                     int
	}{
		"this machine":    {"127.0.0.1:9", "127.0.0.1:80", "Origin", "http://127.0.0.1:80", 200},
		"another machine": {"192.0.2.2:9", "192.0.2.1:80", "", "", 404},
		"forwarded":       {"127.0.0.1:9", "127.0.0.1:80", "X-Forwarded-For", "192.0.2.1", 404},
		"another site":    {"127.0.0.1:9", "127.0.0.1:80", "Origin", "https://example.org", 403},
		"a link of one":   {"127.0.0.1:9", "127.0.0.1:80", "Sec-Fetch-Site", "cross-site", 403},
	} {
		r := between(t, c.peer, c.own, httptest.NewRequest(http.MethodPost, "http://127.0.0.1:80"+SetupPath, nil))
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		rw := httptest.NewRecorder()
		page.ServeHTTP(rw, r)
		if rw.Code != c.want {
			t.Errorf("%s: %d; want %d", name, rw.Code, c.want)
		}
	}
	rw := httptest.NewRecorder()
	nearbySetup(nil).ServeHTTP(rw, between(t, "127.0.0.1:9", "127.0.0.1:80", httptest.NewRequest(http.MethodGet, SetupPath, nil)))
	if rw.Code != http.StatusNotFound {
		t.Errorf("a gateway that is set up replies %d; want 404", rw.Code)
	}
}

// SE-26: the operator's page is for browsers on this machine, and over TLS, also behind a trusted proxy. Attempts to log in are limited.
func TestOperatorsPageNeedsTLS(t *testing.T) {
	var seen *http.Request
	page := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r })
	w := New(Options{Listener: noListener{}, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Admin: page})
	for name, c := range map[string]struct {
		peer   string
		tls    bool
		header http.Header
		want   string // the scheme and the address that the page gets; empty: there is no page
	}{
		"this machine":                 {"127.0.0.1:9", false, nil, "http 127.0.0.1"},
		"a proxy on this machine":      {"127.0.0.1:9", false, http.Header{"X-Forwarded-For": {"198.51.100.7"}, "X-Forwarded-Proto": {"https"}}, ""},
		"another machine":              {"198.51.100.7:9", false, nil, ""},
		"another machine that lies":    {"198.51.100.7:9", false, http.Header{"X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Proto": {"https"}}, ""},
		"TLS":                          {"198.51.100.7:9", true, nil, "https 198.51.100.7"},
		"a trusted proxy with TLS":     {"10.1.2.3:9", false, http.Header{"X-Forwarded-For": {"198.51.100.7"}, "X-Forwarded-Proto": {"https"}}, "https 198.51.100.7"},
		"a trusted proxy without TLS":  {"10.1.2.3:9", false, http.Header{"X-Forwarded-For": {"198.51.100.7"}, "X-Forwarded-Proto": {"http"}}, ""},
		"a trusted proxy without both": {"10.1.2.3:9", false, nil, ""},
	} {
		seen = nil
		r := between(t, c.peer, "127.0.0.1:80", httptest.NewRequest(http.MethodGet, "/admin", nil))
		for key, values := range c.header {
			r.Header[key] = values
		}
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		rw := httptest.NewRecorder()
		door{w}.operators(page).ServeHTTP(rw, r)
		got := ""
		if seen != nil {
			got = seen.URL.Scheme + " " + seen.RemoteAddr
		}
		if got != c.want || (c.want == "") != (rw.Code == http.StatusNotFound) {
			t.Errorf("%s: %d, %q; want %q", name, rw.Code, got, c.want)
		}
	}
	for n := range loginsEach + 1 {
		rw := httptest.NewRecorder()
		door{w}.operators(page).ServeHTTP(rw, between(t, "127.0.0.1:9", "127.0.0.1:80", httptest.NewRequest(http.MethodPost, "/admin/login", nil)))
		if limited := rw.Code == http.StatusTooManyRequests; limited != (n == loginsEach) {
			t.Errorf("attempt %d: %d", n, rw.Code)
		}
	}
}
