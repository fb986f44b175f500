package connectortest

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"testing"
)

// Serve serves h on l until the test ends.
func Serve(t testing.TB, l net.Listener, h http.Handler) {
	srv := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
}
