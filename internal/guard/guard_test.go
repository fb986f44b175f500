package guard

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/require"
	"parley/sim"
)

// SE-03: what is not the public internet, however it is written.
func TestPublic(t *testing.T) {
	for _, s := range []string{
		"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "0.0.0.0", "0.1.2.3", "::",
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "::ffff:10.0.0.1", "fc00::1", "fd00:ec2::254",
		"169.254.169.254", "::ffff:169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "fec0::1",
		"100.64.0.1", "::ffff:100.64.0.1", "::ffff:192.0.0.192", "100.100.100.200", "100.127.255.255", "192.0.0.1", "192.0.0.192", "198.18.0.1", "198.19.255.255",
		"192.0.2.1", "198.51.100.7", "203.0.113.9", "192.88.99.1", "168.63.129.16",
		"224.0.0.1", "239.255.255.255", "255.255.255.255", "240.0.0.1", "ff02::1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "100::1", "3fff::1",
	} {
		if public(netip.MustParseAddr(s)) {
			t.Errorf("%s counts as public", s)
		}
	}
	for _, s := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "192.0.1.0",
		"198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001::1",
	} {
		if !public(netip.MustParseAddr(s)) {
			t.Errorf("%s does not count as public", s)
		}
	}
	if public(netip.Addr{}) {
		t.Error("the zero address counts as public; want false")
	}
}

// SE-03: what the text of an address tells.
func TestAllowed(t *testing.T) {
	any, some := New(Options{}), New(Options{Hosts: []string{"cdn.test"}})
	some.schemes, some.ports = []string{"http", "https"}, []string{"80", "443"}
	own := New(Options{Trusted: "http://127.0.0.1:8080"})
	for _, c := range []struct {
		client  *Client
		address string
		ok      bool
	}{
		{any, "https://example.org/a?b=c", true},
		{any, "https://example.org:443/", true},
		{any, "https://1.1.1.1/", true},
		{any, "http://example.org/", false},
		{any, "https://example.org:22/", false},
		{any, "https://example.org:80/", false},
		{any, "https://user@example.org/", false},
		{any, "https://127.0.0.1/", false},
		{any, "https://[::1]/", false},
		{any, "https://[::ffff:7f00:1]/", false},
		{any, "https://169.254.169.254/latest/meta-data", false},
		{any, "file:///etc/passwd", false},
		{any, "gopher://example.org/", false},
		{any, "https:///path", false},
		{any, "", false},
		{any, "://", false},
		{any, "https://exa mple.org", false},
		{own, "http://127.0.0.1:8080/a", true},
		{own, "http://127.0.0.1:8081/a", false},
		{own, "https://127.0.0.1:8080/a", false},
		{own, "http://me@127.0.0.1:8080/a", false},
		{own, "https://example.org/", true},
		{own, "https://10.0.0.1/", false},
		{some, "http://cdn.test/a", true},
		{some, "https://CDN.test./a", true},
		{some, "https://cdn.test.evil.test/a", false},
		{some, "https://evil.test/cdn.test", false},
		{some, "https://cdn.test@evil.test/", false},
		{some, "ftp://cdn.test/", false},
	} {
		called := false
		c.client.options.Dial = func(context.Context, string, string) (net.Conn, error) {
			called = true
			return nil, errors.New("host unreachable")
		}
		_, _, err := c.client.Get(t.Context(), c.address, 10)
		if called != c.ok || !c.ok && !errors.Is(err, ErrForbidden) {
			t.Errorf("%q: dialled %v, %v", c.address, called, err)
		}
	}
}

// names is a DNS server of one name, whose answers change with each question.
type names struct {
	mu      sync.Mutex
	answers []string // the last one stays
	asked   int
}

// resolver asks n.
func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go n.serve(there)
		return here, nil
	}}
}

// serve answers one question as over TCP: each message behind its length.
func (n *names) serve(c net.Conn) {
	defer c.Close()
	head := make([]byte, 2)
	if _, err := io.ReadFull(c, head); err != nil {
		return
	}
	question := make([]byte, binary.BigEndian.Uint16(head))
	if _, err := io.ReadFull(c, question); err != nil {
		return
	}
	end := 12 + bytes.IndexByte(question[12:], 0) + 1 + 4
	answer := append([]byte{}, question[:end]...)
	copy(answer[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	if binary.BigEndian.Uint16(question[end-4:]) == 1 { // A; there are no others
		n.mu.Lock()
		ip := netip.MustParseAddr(n.answers[min(n.asked, len(n.answers)-1)]).As4()
		n.asked++
		n.mu.Unlock()
		answer[7] = 1
		answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		answer = append(answer, ip[:]...)
	}
	_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
}

// SE-03: a name that is public when it is resolved first, and is this machine when it is dialed.
func TestRebinding(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	reached := make(chan struct{})
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
			close(reached)
		}
	}()
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	n := &names{answers: []string{"1.1.1.1", "127.0.0.1"}}
	r := n.resolver()
	if ips, err := r.LookupHost(t.Context(), "evil.test"); err != nil || !slices.Equal(ips, []string{"1.1.1.1"}) {
		t.Fatalf("who looks first finds %v, %v", ips, err)
	}
	c := New(Options{})
	c.schemes, c.ports, c.resolver = []string{"http"}, []string{port}, r
	_, _, err = c.Get(t.Context(), "http://evil.test:"+port+"/", 10)
	if !errors.Is(err, ErrForbidden) {
		t.Errorf("got %v", err)
	}
	select {
	case <-reached:
		t.Error("this machine was reached")
	default:
	}
}

// within plays against a server on a network in memory.
func within(t *testing.T, o Options, h http.HandlerFunc, play func(*testing.T, *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := sim.NewNet()
		l := require.Value(n.Listen("tcp", "cdn.test:80"))(t)
		server := &http.Server{Handler: h}
		done := make(chan struct{})
		go func() { _ = server.Serve(l); close(done) }()
		o.Dial = n.Dial
		c := New(o)
		c.schemes, c.ports = []string{"http"}, []string{"80"}
		play(t, c)
		_ = server.Close()
		<-done
		time.Sleep(time.Minute) // in a bubble: lets the handlers end, for which Close doesn't wait
	})
}

// SE-03: each redirect is judged like the first address, and nothing is told to where it leads.
func TestRedirects(t *testing.T) {
	var asked []*http.Request
	h := func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r)
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		if n := len(asked); r.URL.Path == "/loop" && n < 10 {
			http.Redirect(w, r, fmt.Sprintf("/loop?n=%d", n), http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "file")
	}
	for to, want := range map[string]string{
		"":                              "file",
		"/other":                        "file",
		"http://cdn.test/other":         "file",
		"http://127.0.0.1/":             "forbidden",
		"http://[::ffff:127.0.0.1]/":    "forbidden",
		"http://169.254.169.254/latest": "forbidden",
		"http://other.test/":            "forbidden",
		"http://cdn.test:8080/":         "forbidden",
		"file:///etc/passwd":            "forbidden",
		"https://cdn.test/":             "forbidden",
		"/loop":                         "forbidden",
		"http://cdn.test:80/?to=http://10.0.0.1/": "forbidden",
	} {
		t.Run(to, func(t *testing.T) {
			asked = nil
			within(t, Options{Hosts: []string{"cdn.test"}}, h, func(t *testing.T, c *Client) {
				data, _, err := c.Get(t.Context(), "http://cdn.test/?to="+to, 10)
				got := string(data)
				if errors.Is(err, ErrForbidden) {
					got = "forbidden"
				}
				if got != want || len(asked) > maxRedirects+1 {
					t.Errorf("%q, %v after %d requests", got, err, len(asked))
				}
				for _, r := range asked {
					if r.Referer() != "" {
						t.Errorf("%s is told of %s; want none", r.URL, r.Referer())
					}
				}
			})
		})
	}
}

// SE-03: what a server sends is bounded, whatever it says about it, and so is its time. SE-02: errors hold no signed address.
func TestBounds(t *testing.T) {
	const limit = 1 << 10
	never := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want error // nil for all that is allowed
	}{
		"exactly":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, limit)) }, nil},
		"said":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, limit+1)) }, ErrTooLarge},
		"in chunks": {func(w http.ResponseWriter, _ *http.Request) { flood(w, limit+1) }, ErrTooLarge},
		"gone":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, ErrGone},
		"expired":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, ErrGone},
		"cut":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, io.EOF},
		"silent":    {never, errSlow},
		"drop wise": {func(w http.ResponseWriter, r *http.Request) { drip(w, r) }, errSlow},
		"compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("x"))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, Options{}, c.h, func(t *testing.T, client *Client) {
				start := time.Now()
				data, _, err := client.Get(t.Context(), "http://cdn.test/a?hm=signature", limit)
				if !errors.Is(err, c.want) || err == nil && len(data) > limit || time.Since(start) > wholeTime {
					t.Errorf("%d bytes, %v after %v", len(data), err, time.Since(start))
				}
				if err != nil && strings.Contains(err.Error(), "signature") {
					t.Errorf("the error shows the signed address: %v", err)
				}
			})
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		within(t, Options{}, never, func(t *testing.T, client *Client) {
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := errors.New("the turn is over")
			time.AfterFunc(time.Second, func() { cancel(stop) })
			if _, _, err := client.Get(ctx, "http://cdn.test/a", limit); err != stop {
				t.Errorf("got %v; want %v", err, stop)
			}
		})
	})
}

// flood sends n bytes without saying how many.
func flood(w http.ResponseWriter, n int) {
	for range n {
		_, _ = w.Write([]byte("x"))
		_ = http.NewResponseController(w).Flush()
	}
}

// drip sends a byte a second.
func drip(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		_, _ = w.Write([]byte("x"))
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Second) // of the bubble's clock
	}
}

// SE-03: a proxy of the environment would be dialled in place of the address that was judged.
func TestNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	if New(Options{}).http.Transport.(*http.Transport).Proxy != nil {
		t.Error("the environment's proxy is used")
	}
}
