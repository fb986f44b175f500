package discord

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"parley/connectors"
	"parley/connectors/connectortest"
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

// Settings that can't be right are said at once, and nothing is sent.
func TestWrongSettings(t *testing.T) {
	for want, o := range map[string]Config{
		"connectors.discord.token is empty":         {},
		"connectors.discord.api_url is not a URL":   {Token: "token", APIURL: "discord.test"},
		"connectors.discord.api_url is not a URL; ": {Token: "token", APIURL: "ftp://discord.test"},
	} {
		d := New(o, connectortest.Deps(func(context.Context, string, string) (net.Conn, error) {
			t.Errorf("%s: it connects", want)
			return nil, errors.New("no network")
		}))
		err := d.Run(t.Context(), nil)
		if !errors.As(err, new(connectors.Fatal)) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, Run says %v", want, err)
		}
		if _, err := d.Check(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, Check says %v", want, err)
		}
	}
}
