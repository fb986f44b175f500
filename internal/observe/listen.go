package observe

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"
)

// Bounds of the listener: a client that never reads, or many clients, must not slow the gateway down.
const (
	mostConnections = 16
	mostScrapes     = 2 // at a time
	scrapeTimeout   = 10 * time.Second
)

// Readers are those who can read metrics.
type Readers struct {
	Clients  []netip.Prefix // their addresses, besides this machine
	Anywhere bool           // all addresses
	Token    string         // required as a bearer token; empty: none
}

// Serve serves the metrics at /metrics until ctx ends. It closes l.
func (m *Metrics) Serve(ctx context.Context, l net.Listener, readers Readers, log *slog.Logger) {
	metrics := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: mostScrapes, Timeout: scrapeTimeout, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(rw http.ResponseWriter, r *http.Request) {
		given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case !readers.Anywhere && !admits(readers.Clients, r.RemoteAddr):
			http.Error(rw, "this address is not one of metrics.clients", http.StatusForbidden)
		case readers.Token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(readers.Token)) == 0:
			rw.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(rw, "send the token of metrics.token in the header Authorization, after Bearer", http.StatusUnauthorized)
		default:
			metrics.ServeHTTP(rw, r)
		}
	})
	srv := &http.Server{
		Handler: mux, ReadTimeout: scrapeTimeout, WriteTimeout: 2 * scrapeTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(netutil.LimitListener(l, mostConnections)); !errors.Is(err, http.ErrServerClosed) {
		log.Error("the metrics can't be served any more", "err", err)
	}
}

// admits reports whether the address of a client is of this machine, or one of clients.
func admits(clients []netip.Prefix, address string) bool {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return false
	}
	from := at.Addr().Unmap().WithZone("")
	return from.IsLoopback() || slices.ContainsFunc(clients, func(p netip.Prefix) bool { return p.Contains(from) })
}
