package telegram

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"testing"
)

// Without a dialer of the program's own the environment's proxy counts (HTTPS_PROXY); with one it does not, since that reaches
// Telegram itself.
func TestProxy(t *testing.T) {
	if proxy(nil) == nil {
		t.Error("proxy(nil) is nil; want the proxy of the environment")
	}
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	var none func(*http.Request) (*url.URL, error)
	if p := proxy(dial); (p == nil) != (none == nil) {
		t.Error("proxy(dial) is not nil; want no proxy with a dialer")
	}
}
