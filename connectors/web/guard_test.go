package web

import (
	"bytes"
	"fmt"
	"log/slog"
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
	g := newGuard(addr, origins, nil, slog.New(slog.DiscardHandler))
	ok := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusTeapot) })
	mux := http.NewServeMux()
	mux.Handle("/api/", g.api(ok))
	mux.Handle("/", g.page(ok, ""))
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
			allowed, legible := w.Header().Get("Access-Control-Allow-Origin"), c.origin == shop || c.want == http.StatusForbidden
			if allowed != "" && (allowed != c.origin || !legible) || allowed == "" && c.origin == shop {
				t.Errorf("Access-Control-Allow-Origin is %q", allowed)
			}
			if w.Header().Get("Access-Control-Allow-Credentials") != "" {
				t.Error("credentials are let in")
			}
		})
	}
}

// WB-16: a site that is not listed can read why it is refused, and reaches nothing. The owner reads in the log which line would let
// it in, once in an hour, however often and under how many names it is tried.
func TestRefusedSitesAreDiagnosable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
		g := newGuard(addr, nil, nil, slog.New(slog.NewTextHandler(&log, nil)))
		h := g.host(g.api(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request came through") })))
		ask := func(method, host, origin string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, "/api/conversations", nil)
			r.Host = host
			r.Header.Set("Origin", origin)
			r.Header.Set("Access-Control-Request-Headers", "authorization, x-stainless-lang")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		const shop = "https://shop.example"
		for range 100 {
			if w := ask("OPTIONS", "127.0.0.1:8080", shop); w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Origin") != shop ||
				w.Header().Get("Access-Control-Allow-Headers") != "authorization, x-stainless-lang" {
				t.Fatalf("the preflight is answered %d %v: the browser would hide the refusal", w.Code, w.Header())
			}
			if w := ask("POST", "127.0.0.1:8080", shop); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), `"code":"ORIGIN_NOT_ALLOWED"`) ||
				w.Header().Get("Access-Control-Allow-Origin") != shop {
				t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
			}
		}
		const line = `to_allow_it="add \"https://shop.example\" to web.origins"`
		if n := strings.Count(log.String(), line); n != 1 {
			t.Errorf("the log holds the line %d times:\n%s", n, &log)
		}
		time.Sleep(time.Hour)
		ask("POST", "127.0.0.1:8080", shop)
		if n := strings.Count(log.String(), line); n != 2 {
			t.Errorf("an hour later the log holds the line %d times", n)
		}
		ask("POST", "chat.example", "https://chat.example")
		if !strings.Contains(log.String(), `add \"https://chat.example\" to web.origins`) {
			t.Errorf("a request for another host name is not in the log:\n%s", &log)
		}
		for n := range 1000 {
			ask("POST", "127.0.0.1:8080", fmt.Sprintf("https://%d.example", n))
		}
		ask("POST", "127.0.0.1:8080", "https://"+strings.Repeat("x", 10_000))
		if n := strings.Count(log.String(), "\n"); n > maxSeldom+2 || log.Len() > 64<<10 {
			t.Errorf("the log has %d lines, %d bytes", n, log.Len())
		}
	})
}

func TestPreflight(t *testing.T) {
	r := httptest.NewRequest("OPTIONS", "/api/conversations", nil)
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Origin", "https://shop.example")
	r.Header.Set("Access-Control-Request-Headers", "x-conversation-id, x-stainless-lang") // clients have headers of their own
	w := httptest.NewRecorder()
	testGuard(t, "https://shop.example").ServeHTTP(w, r)
	if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Methods") == "" ||
		w.Header().Get("Access-Control-Allow-Headers") != "x-conversation-id, x-stainless-lang" {
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
		{"192.0.2.1:1234", "198.51.100.7", "192.0.2.1/32"}, // not a trusted proxy
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
			if wait := l.take(caller{from: a}); wait != 0 {
				t.Fatalf("request %d has to wait %v", i+1, wait)
			}
		}
		if wait := l.take(caller{from: a}); wait != 20*time.Second {
			t.Errorf("the fourth has to wait %v", wait)
		}
		if wait := l.take(caller{from: b}); wait != 0 {
			t.Errorf("another address has to wait %v", wait)
		}
		time.Sleep(20 * time.Second)
		if wait := l.take(caller{from: a}); wait != 0 {
			t.Errorf("after its wait it has to wait %v", wait)
		}
		time.Sleep(time.Hour)
		l.take(caller{from: b})
		if len(l.next) != 1 {
			t.Errorf("%d addresses are remembered", len(l.next))
		}
	})
}
