package parley_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"parley"
	"parley/config"
	"parley/connectors/web/certificates"
	"parley/internal/require"
)

const site = "chat.example.org"

// authority is a certificate authority for tests, with name servers where every site leads to this machine.
type authority struct {
	certificates.Authority
	issued   *x509.CertPool // verifies its certificates
	store    *db.MemoryStore
	issuer   *ca.CAImpl
	resolver string
	handler  atomic.Pointer[http.Handler]
}

// newAuthority starts one whose certificates are valid for some seconds, or with 0 for the usual time.
func newAuthority(t *testing.T, valid uint64) *authority {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "0")
	names, err := net.Listen("tcp", "127.0.0.1:0") // the authority asks over TCP
	require.NoError(t, err)
	t.Cleanup(func() { _ = names.Close() })
	resolver := &dns.Server{Listener: names, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		a := new(dns.Msg)
		a.SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			a.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)}}
		}
		_ = w.WriteMsg(a)
	})}
	go func() { _ = resolver.ActivateAndServe() }()
	a := &authority{store: db.NewMemoryStore(), resolver: names.Addr().String(), issued: x509.NewCertPool()}
	a.issuer = ca.New(log.New(io.Discard, "", 0), a.store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {ValidityPeriod: valid}})
	a.issued.AddCert(a.issuer.GetRootCert(0).Cert)
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { (*a.handler.Load()).ServeHTTP(rw, r) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	a.Authority = certificates.Authority{Directory: server.URL + wfe.DirectoryPath, Roots: roots}
	return a
}

// checksAt makes a check sites at two ports from now on.
func (a *authority) checksAt(plain, secure int) {
	quiet := log.New(io.Discard, "", 0)
	front := wfe.New(quiet, a.store, va.New(quiet, plain, secure, false, a.resolver, a.store), a.issuer, []string{"pebble.letsencrypt.org"}, false, false, 0, 0)
	h := http.NewServeMux()
	h.Handle("/", front.Handler())
	// The authority's own answer about the renewal of a certificate that is valid for a second is invalid, and asked for again after seconds.
	h.HandleFunc("/draft-ietf-acme-ari-03/renewalInfo/", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.Header().Set("Retry-After", "3600")
		_, _ = io.WriteString(rw, `{"suggestedWindow": {"start": "2100-01-01T00:00:00Z", "end": "2100-01-02T00:00:00Z"}}`)
	})
	var handler http.Handler = h
	a.handler.Store(&handler)
}

// ports are the listeners that stand for the ports 443 and 80.
type ports map[string]net.Listener

func listenTwice(t *testing.T) ports {
	t.Helper()
	p := ports{}
	for _, address := range []string{":443", ":80", ":9464"} {
		l := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
		t.Cleanup(func() { _ = l.Close() })
		p[address] = l
	}
	return p
}

func (p ports) listen(network, address string) (net.Listener, error) {
	if l := p[address]; l != nil {
		return l, nil
	}
	return net.Listen(network, address)
}

func (p ports) port(address string) int { return p[address].Addr().(*net.TCPAddr).Port }

// client returns a client that reaches every site at these ports, and follows no redirect.
func (p ports) client(roots *x509.CertPool) *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		return new(net.Dialer).DialContext(ctx, network, p[":"+port].Addr().String())
	}
	return &http.Client{
		Transport:     &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// events sends log lines with a certificate to a channel.
type events struct {
	slog.Handler
	to chan string
}

func (e events) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "certificate") {
		text := r.Message
		r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
		select {
		case e.to <- text:
		case <-ctx.Done():
		}
	}
	return nil
}

func (e events) Enabled(context.Context, slog.Level) bool { return true }
func (e events) WithAttrs([]slog.Attr) slog.Handler       { return e }
func (e events) WithGroup(string) slog.Handler            { return e }

// public is a configuration with a domain.
func public(t *testing.T) config.Config {
	cfg := embedding(t)
	cfg.Web.Public, cfg.Web.TLS = true, []string{site}
	return cfg
}

// With a domain the gateway gets a certificate by either check of the authority, serves the page and the API with it, and redirects
// readers without TLS. After a restart it uses the stored certificate.
func TestSecureChat(t *testing.T) {
	for name, reached := range map[string]struct{ plain, secure bool }{"by HTTP": {true, false}, "by TLS": {false, true}} {
		t.Run(name, func(t *testing.T) {
			cfg, first := public(t), listenTwice(t)
			cfg.Metrics = config.Metrics{Listen: ":9464", Token: "0123456789abcdef"}
			plain, secure := 1, 1 // nothing listens there
			if reached.plain {
				plain = first.port(":80")
			}
			if reached.secure {
				secure = first.port(":443")
			}
			authority := newAuthority(t, 0)
			authority.checksAt(plain, secure)
			e := events{to: make(chan string, 10)}
			serial := ""
			life(t, cfg, parley.Env{Listen: first.listen, Authority: authority.Authority, Log: slog.New(e)}, func(*parley.Gateway) {
				for !strings.Contains(<-e.to, "is in use") { // the other check can fail before
				}
				serial = readSecurely(t, first.client(authority.issued))
				readMetrics(t, first.client(authority.issued))
			})
			again, away := listenTwice(t), http.NotFoundHandler()
			authority.handler.Store(&away)
			life(t, cfg, parley.Env{Listen: again.listen, Authority: authority.Authority, Log: slog.New(e)}, func(*parley.Gateway) {
				for !strings.Contains(<-e.to, "is in use") {
				}
				if got := readSecurely(t, again.client(authority.issued)); got != serial {
					t.Errorf("after a restart the certificate is %s, not %s", got, serial)
				}
			})
			checkPrivate(t, strings.TrimPrefix(cfg.Store.Reveal(), "sqlite:")+".certificates")
		})
	}
}

// readSecurely reads the page, opens a conversation, and is redirected. It returns the certificate's serial number.
func readSecurely(t *testing.T, client *http.Client) string {
	t.Helper()
	resp, err := client.Get("https://" + site + "/")
	require.NoError(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 || resp.Header.Get("Strict-Transport-Security") != "" {
		t.Errorf("the page is %s by %s with %v", resp.Status, resp.Proto, resp.Header)
	}
	serial := resp.TLS.PeerCertificates[0].SerialNumber.String()
	req, _ := http.NewRequest(http.MethodPost, "https://"+site+"/api/conversations", nil)
	req.Header.Set("Origin", "https://"+site)
	if resp, err = client.Do(req); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		t.Errorf("a conversation is %s", resp.Status)
	}
	for host, want := range map[string]string{site: site, "other.example": site} {
		if resp, err = client.Get("http://" + host + "/widget.js?a=b"); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Location"); resp.StatusCode != http.StatusPermanentRedirect || got != "https://"+want+"/widget.js?a=b" {
			t.Errorf("without TLS %s leads to %q with %s", host, got, resp.Status)
		}
	}
	return serial
}

// readMetrics reads the metrics with the token and the certificate of the chat.
func readMetrics(t *testing.T, client *http.Client) {
	t.Helper()
	for given, want := range map[string]int{"": http.StatusUnauthorized, "Bearer 0123456789abcdeg": http.StatusUnauthorized, "Bearer 0123456789abcdef": http.StatusOK} {
		req, _ := http.NewRequest(http.MethodGet, "https://"+site+":9464/metrics", nil)
		req.Header.Set("Authorization", given)
		resp := require.Value(client.Do(req))(t)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("with the authorization %q the metrics are %s", given, resp.Status)
		}
	}
	if resp, err := client.Get("http://" + site + ":9464/metrics"); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS the metrics are %s", resp.Status)
		}
	}
}

// checkPrivate fails if other users can read a file in a folder.
func checkPrivate(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil || files < 3 {
		t.Errorf("%d files: %v", files, err)
	}
}

// A certificate that ends soon is replaced.
func TestCertificateIsRenewed(t *testing.T) {
	cfg, authority := public(t), newAuthority(t, 1)
	e := events{to: make(chan string, 100)}
	for _, renewal := range []string{"false", "true"} {
		p := listenTwice(t)
		authority.checksAt(p.port(":80"), 1)
		life(t, cfg, parley.Env{Listen: p.listen, Authority: authority.Authority, Log: slog.New(e)}, func(*parley.Gateway) {
			for !strings.Contains(<-e.to, "was issued domain="+site+" renewal="+renewal) {
			}
		})
	}
}

// Ports that can't be used end the start with a sentence that says what to do, and the check finds them too.
func TestPortsOfSecureChat(t *testing.T) {
	for name, c := range map[string]struct {
		port string
		err  error
		want string
	}{
		"taken":            {":443", syscall.EADDRINUSE, "let that program be the proxy"},
		"the other, taken": {":80", syscall.EADDRINUSE, "let that program be the proxy"},
		"not permitted":    {":443", syscall.EACCES, "sudo setcap cap_net_bind_service=+ep"},
		"another problem":  {":80", errors.New("no network"), "web.tls needs it"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, p := public(t), listenTwice(t)
			env := parley.Env{Listen: func(network, address string) (net.Listener, error) {
				if address == c.port {
					return nil, &net.OpError{Op: "listen", Net: network, Err: os.NewSyscallError("bind", c.err)}
				}
				return p.listen(network, address)
			}}
			if _, err := parley.Start(t.Context(), cfg, env); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.port) {
				t.Errorf("the start fails with %v", err)
			}
			if f := parley.Check(t.Context(), cfg, env, "web.tls"); len(f) != 1 || f[0].OK || !strings.Contains(f[0].Text, c.want) {
				t.Errorf("the check finds %+v", f)
			}
			life(t, embedding(t), parley.Env{}, func(*parley.Gateway) {})
		})
	}
}
