// Package certificates gets certificates for the domains of the web chat from an authority that speaks ACME, such as Let's
// Encrypt, and renews them.
package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
)

// Authority is a certificate authority. The zero value is Let's Encrypt.
type Authority struct {
	Directory string         // the address of its ACME directory
	Roots     *x509.CertPool // verify its own server; nil for those of the system
}

// Options configures [Certificates].
type Options struct {
	Domains   []string
	Dir       string // where accounts, keys and certificates are kept, readable by this user alone
	Authority Authority
	// Secure and Plain are the listeners that the ports 443 and 80 of the domains lead to. The authority checks there
	// that the domains are ours.
	Secure, Plain net.Listener
	Log           *slog.Logger
}

// Certificates holds the certificates of some domains. Its methods are safe for concurrent use.
type Certificates struct {
	opts   Options
	magic  *certmagic.Config
	cache  *certmagic.Cache
	issuer *certmagic.ACMEIssuer
}

// New returns the certificates of o.Domains. It takes ownership of the listeners.
func New(o Options) *Certificates {
	c := &Certificates{opts: o}
	quiet := zap.NewNop() // what owners need comes as events
	c.cache = certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return c.magic, nil }, Logger: quiet,
	})
	// ARI, the requests of an authority for an earlier renewal, is off: if the authority is away during a start, version 0.25.6 of the
	// library then continues with an empty certificate in place of the stored one.
	c.magic = certmagic.New(c.cache, certmagic.Config{Storage: &certmagic.FileStorage{Path: o.Dir}, OnEvent: c.report, DisableARI: true, Logger: quiet})
	template := certmagic.ACMEIssuer{
		CA: o.Authority.Directory, TestCA: o.Authority.Directory, TrustedRoots: o.Authority.Roots, Agreed: true,
		AltHTTPPort: port(o.Plain), AltTLSALPNPort: port(o.Secure), Logger: quiet,
	}
	if template.CA == "" {
		template.CA, template.TestCA = certmagic.LetsEncryptProductionCA, certmagic.LetsEncryptStagingCA
	}
	c.issuer = certmagic.NewACMEIssuer(c.magic, template)
	c.magic.Issuers = []certmagic.Issuer{c.issuer}
	return c
}

// port returns the port of a listener.
func port(l net.Listener) int {
	addr, _ := l.Addr().(*net.TCPAddr)
	if addr == nil {
		return 0
	}
	return addr.Port
}

// report logs what happens to a certificate.
func (c *Certificates) report(_ context.Context, event string, data map[string]any) error {
	switch event {
	case "cert_obtained":
		c.opts.Log.Info("a certificate was issued", "domain", data["identifier"], "renewal", data["renewal"])
	case "cached_managed_cert":
		c.opts.Log.Info("a certificate is in use", "domains", data["sans"])
	case "cert_failed":
		c.opts.Log.Warn("no certificate was issued; it is tried again. The domain must lead to this machine, and its ports 80 and 443 must be open",
			"domain", data["identifier"], "renewal", data["renewal"], "err", data["error"])
	}
	return nil
}

// Serve serves srv with the certificates too, redirects readers who come without TLS, and gets and renews certificates in the
// background until ctx ends. The caller shuts srv down, and then calls end, which waits for all of it. Later failures go to failed.
// It fails if the stored certificates can't be read. Without certificates (nil) it does nothing.
func (c *Certificates) Serve(ctx context.Context, srv *http.Server, failed chan<- error) (end func(), err error) {
	if c == nil {
		return func() {}, nil
	}
	if err := c.magic.ManageAsync(ctx, c.opts.Domains); err != nil {
		return nil, fmt.Errorf("read the certificates in %s: %w", c.opts.Dir, err)
	}
	srv.TLSConfig = c.TLS()
	srv.TLSConfig.NextProtos = append([]string{"h2"}, srv.TLSConfig.NextProtos...)
	plain := &http.Server{
		Handler: c.issuer.HTTPChallengeHandler(http.HandlerFunc(c.redirect)), ReadHeaderTimeout: srv.ReadHeaderTimeout, ReadTimeout: srv.ReadHeaderTimeout,
		WriteTimeout: srv.ReadHeaderTimeout, MaxHeaderBytes: srv.MaxHeaderBytes, ErrorLog: srv.ErrorLog,
	}
	ended := make(chan struct{}, 2)
	serve := func(f func() error) {
		if err := f(); !errors.Is(err, http.ErrServerClosed) {
			select {
			case failed <- err:
			default: // another failure is reported
			}
		}
		ended <- struct{}{}
	}
	go serve(func() error { return srv.ServeTLS(c.opts.Secure, "", "") })
	go serve(func() error { return plain.Serve(c.opts.Plain) })
	return func() {
		_ = plain.Close() // it has only redirects
		<-ended
		<-ended
		c.cache.Stop()
	}, nil
}

// TLS returns the configuration of another listener with the certificates.
func (c *Certificates) TLS() *tls.Config {
	config := c.magic.TLSConfig()
	config.NextProtos = append([]string{"http/1.1"}, config.NextProtos...)
	return config
}

// redirect sends a reader to the same page with TLS. There is no Strict-Transport-Security: browsers keep it, and the domain
// could not be served without TLS again.
func (c *Certificates) redirect(rw http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if !slices.Contains(c.opts.Domains, host) {
		host = c.opts.Domains[0]
	}
	http.Redirect(rw, r, "https://"+host+r.URL.RequestURI(), http.StatusPermanentRedirect)
}
