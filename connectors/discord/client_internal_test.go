package discord

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
)

// A connection that can't be secured has carried nothing.
func TestNoTLS(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			_, _ = far.Read(make([]byte, 1))
			_ = far.Close()
		}()
		return near, nil
	}
	err := newClient("token", "https://discord.test", dial, nil).do(t.Context(), http.MethodGet, "gateway", nil, nil)
	if !errors.Is(err, errUnsent) {
		t.Errorf("got %v", err)
	}
}
