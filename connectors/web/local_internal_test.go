package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// Only programs of this machine that know the token are let in, and nobody for whom a proxy has asked.
func TestLocal(t *testing.T) {
	w := &Web{opts: Options{LocalToken: "right", Local: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusOK) })}}
	for name, c := range map[string]struct {
		peer, own, token, header string
		want                     int
	}{
		"this machine":                 {"127.0.0.1:9", "127.0.0.1:80", "right", "", 200},
		"this machine, IPv6":           {"[::1]:9", "[::1]:80", "right", "", 200},
		"its own outer address":        {"192.0.2.1:9", "192.0.2.1:80", "right", "", 200},
		"another machine":              {"192.0.2.2:9", "192.0.2.1:80", "right", "", 404},
		"a wrong token":                {"127.0.0.1:9", "127.0.0.1:80", "wrong", "", 404},
		"no token":                     {"127.0.0.1:9", "127.0.0.1:80", "", "", 404},
		"for somebody else":            {"127.0.0.1:9", "127.0.0.1:80", "right", "X-Forwarded-For", 404},
		"for somebody else, otherwise": {"127.0.0.1:9", "127.0.0.1:80", "right", "Forwarded", 404},
		"from a page":                  {"127.0.0.1:9", "127.0.0.1:80", "right", "Origin", 404},
	} {
		r := between(t, c.peer, c.own, httptest.NewRequest(http.MethodPost, LocalPath+"pair", nil))
		r.Header.Set("Authorization", "Bearer "+c.token)
		if c.header != "" {
			r.Header.Set(c.header, "somebody")
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

// The owner's code is for the gateway's own page in a browser of this machine: no other site, machine, name or proxy learns
// it (WB-11, WB-12), nothing keeps it, and no gateway shows it that is meant for others.
func TestOwnerCode(t *testing.T) {
	const code, here = "ABCD-EFGH", "127.0.0.1:8080"
	awaited := func(context.Context) (string, error) { return code, nil }
	page := http.Header{"Sec-Fetch-Site": {"same-origin"}}
	with := func(name, value string) http.Header {
		h := page.Clone()
		h.Set(name, value)
		return h
	}
	for name, c := range map[string]struct {
		peer, host string
		header     http.Header
		edit       func(*Options)
		want       int
	}{
		"the own page":           {header: page, want: 200},
		"by another name":        {host: "localhost:8080", header: page, want: 200},
		"over IPv6":              {peer: "[::1]:9", host: "[::1]:8080", header: page, want: 200},
		"another machine":        {peer: "192.0.2.7:9", header: page, want: 204},
		"a program":              {want: 204},
		"another site":           {header: with("Sec-Fetch-Site", "cross-site"), want: 204},
		"another port":           {header: with("Sec-Fetch-Site", "same-site"), want: 204},
		"of two minds":           {header: http.Header{"Sec-Fetch-Site": {"same-origin", "cross-site"}}, want: 204},
		"typed into the browser": {header: with("Sec-Fetch-Site", "none"), want: 204},
		"with an origin":         {header: with("Origin", "https://evil.example"), want: 204},
		"with its own origin":    {header: with("Origin", "http://"+here), want: 204},
		"a rebound name":         {host: "evil.example:8080", header: page, want: 403},
		"forwarded":              {header: with("X-Forwarded-For", "192.0.2.7"), want: 204},
		"forwarded, otherwise":   {header: with("Forwarded", "for=192.0.2.7"), want: 204},
		"forwarded, a third way": {header: with("X-Real-Ip", "192.0.2.7"), want: 204},
		"for other sites":        {header: page, edit: func(o *Options) { o.Origins = []string{"https://shop.example"} }, want: 204},
		"behind a proxy":         {header: page, edit: func(o *Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }, want: 204},
		"there is an owner":      {header: page, edit: func(o *Options) { o.OwnerCode = func(context.Context) (string, error) { return "", nil } }, want: 204},
		"nobody can become it":   {header: page, edit: func(o *Options) { o.OwnerCode = nil }, want: 204},
		"the store does not answer": {header: page, edit: func(o *Options) {
			o.OwnerCode = func(context.Context) (string, error) { return "", errors.New("broken") }
		}, want: 204},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Listener: listensAt(here), OwnerCode: awaited, Log: slog.New(slog.DiscardHandler)}
			if c.edit != nil {
				c.edit(&o)
			}
			r := between(t, cmp.Or(c.peer, "127.0.0.1:9"), here, httptest.NewRequest(http.MethodGet, LocalPath+"owner", nil))
			r.Host = cmp.Or(c.host, here)
			maps.Copy(r.Header, c.header)
			rw := httptest.NewRecorder()
			New(o).routes().ServeHTTP(rw, r)
			if rw.Code != c.want || strings.Contains(rw.Body.String(), code) != (c.want == 200) {
				t.Errorf("%d %s; want %d", rw.Code, rw.Body, c.want)
			}
			h := rw.Header()
			if c.want != 403 && h.Get("Cache-Control") != "no-store" || h.Get("Etag") != "" || h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("the head is %v", h)
			}
		})
	}
}

// listensAt is a listener of which only the address matters.
type listensAt string

func (l listensAt) Addr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(string(l)))
}

func (listensAt) Accept() (net.Conn, error) { return nil, net.ErrClosed }

func (listensAt) Close() error { return nil }
