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
		t.Error("without a dialer no proxy is asked for")
	}
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	var none func(*http.Request) (*url.URL, error)
	if p := proxy(dial); (p == nil) != (none == nil) {
		t.Error("with a dialer there is a proxy too")
	}
}
