package web

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func testGuard(t *testing.T, origins ...string) http.Handler {
	t.Helper()
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	g := newGuard(addr, origins, nil)
	ok := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusTeapot) })
	mux := http.NewServeMux()
	mux.Handle("/api/", g.api(ok))
	mux.Handle("/", g.page(ok))
	return g.host(mux)
}

// WB-11, WB-12: foreign sites, rebound names and null origins are refused; the own page, listed sites and programs are
// not.
func TestGuard(t *testing.T) {
	const own, shop = "http://127.0.0.1:8080", "https://shop.example"
	for name, c := range map[string]struct {
		host, origin, site string
		want               int
	}{
		"a program":                   {"127.0.0.1:8080", "", "", http.StatusTeapot},
		"the own page":                {"127.0.0.1:8080", own, "same-origin", http.StatusTeapot},
		"by another name of its own":  {"localhost:8080", "http://localhost:8080", "", http.StatusTeapot},
		"a listed site":               {"127.0.0.1:8080", shop, "cross-site", http.StatusTeapot},
		"behind a proxy":              {"shop.example", shop, "", http.StatusTeapot},
		"another site":                {"127.0.0.1:8080", "https://evil.example", "cross-site", http.StatusForbidden},
		"null":                        {"127.0.0.1:8080", "null", "", http.StatusForbidden},
		"a site without its origin":   {"127.0.0.1:8080", "", "cross-site", http.StatusForbidden},
		"a rebound name":              {"evil.example:8080", "", "", http.StatusForbidden},
		"a rebound name, own origin":  {"evil.example:8080", "http://evil.example:8080", "same-origin", http.StatusForbidden},
		"another port of the machine": {"127.0.0.1:8080", "http://127.0.0.1:9999", "same-site", http.StatusForbidden},
		"a site that looks alike":     {"127.0.0.1:8080", "https://shop.example.evil", "", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/api/conversations", nil)
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			w := httptest.NewRecorder()
			testGuard(t, shop).ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("%d, not %d", w.Code, c.want)
			}
			allowed := w.Header().Get("Access-Control-Allow-Origin")
			if (allowed != "") != (c.origin == shop) || allowed == "*" {
				t.Errorf("Access-Control-Allow-Origin is %q", allowed)
			}
			if w.Header().Get("Access-Control-Allow-Credentials") != "" {
				t.Error("credentials are let in")
			}
		})
	}
}

func TestPreflight(t *testing.T) {
	r := httptest.NewRequest("OPTIONS", "/api/conversations", nil)
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Origin", "https://shop.example")
	w := httptest.NewRecorder()
	testGuard(t, "https://shop.example").ServeHTTP(w, r)
	if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Methods") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestFramesAreForListedSites(t *testing.T) {
	for want, origins := range map[string][]string{
		"frame-ancestors 'none'":               nil,
		"frame-ancestors https://shop.example": {"https://shop.example"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = "127.0.0.1:8080"
		w := httptest.NewRecorder()
		testGuard(t, origins...).ServeHTTP(w, r)
		if csp := w.Header().Get("Content-Security-Policy"); !strings.HasSuffix(csp, want) || strings.Contains(csp, "unsafe") {
			t.Errorf("the policy is %q", csp)
		}
	}
}

// SE-10: who is counted can't be chosen by who asks.
func TestClient(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct {
		remote, forwarded, want string
	}{
		{"192.0.2.1:1234", "", "192.0.2.1/32"},
		{"192.0.2.1:1234", "198.51.100.7", "192.0.2.1/32"}, // nobody we trust said so
		{"10.0.0.1:1234", "198.51.100.7", "198.51.100.7/32"},
		{"10.0.0.1:1234", "203.0.113.9, 198.51.100.7", "198.51.100.7/32"}, // the first was made up
		{"10.0.0.1:1234", "198.51.100.7, 10.0.0.2", "198.51.100.7/32"},
		{"10.0.0.1:1234", "nonsense", "10.0.0.1/32"},
		{"10.0.0.1:1234", "203.0.113.9:4711", "203.0.113.9/32"}, // some proxies add the port
		{"10.0.0.1:1234", "203.0.113.9:4711, 10.0.0.2:80", "203.0.113.9/32"},
		{"10.0.0.1:1234", "[2001:db8:1:2:3:4:5:6]:4711", "2001:db8:1:2::/64"},
		{"10.0.0.1:1234", "[2001:db8:1:2:3:4:5:6]", "2001:db8:1:2::/64"},
		{"10.0.0.1:1234", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{"10.0.0.1:1234", "[::ffff:203.0.113.9]:4711", "203.0.113.9/32"},
		{"10.0.0.1:1234", "203.0.113.9:", "10.0.0.1/32"},
		{"[2001:db8:1:2:3:4:5:6]:1234", "", "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.1]:1234", "", "192.0.2.1/32"},
	} {
		g := guard{proxies: proxies}
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := g.client(r).String(); got != c.want {
			t.Errorf("%s forwarded for %q counts as %s, not %s", c.remote, c.forwarded, got, c.want)
		}
	}
}

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(3, time.Minute)
		a, b := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")
		for i := range 3 {
			if wait := l.take(a); wait != 0 {
				t.Fatalf("request %d has to wait %v", i+1, wait)
			}
		}
		if wait := l.take(a); wait != 20*time.Second {
			t.Errorf("the fourth has to wait %v", wait)
		}
		if wait := l.take(b); wait != 0 {
			t.Errorf("another address has to wait %v", wait)
		}
		time.Sleep(20 * time.Second)
		if wait := l.take(a); wait != 0 {
			t.Errorf("after its wait it has to wait %v", wait)
		}
		time.Sleep(time.Hour)
		l.take(b)
		if len(l.next) != 1 {
			t.Errorf("%d addresses are remembered", len(l.next))
		}
	})
}
