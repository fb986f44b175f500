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

// noMemory is a store that can't be read.
type noMemory struct{ connectortest.Memory }

func (m *noMemory) Kept(context.Context, string) (string, error) { return "", errNoMemory }

var errNoMemory = errors.New("the disk is gone")

// A division that can't be read is not replaced: the sessions of other processes depend on it.
func TestDivisionIsNotReplacedUnread(t *testing.T) {
	memo := &noMemory{}
	d := &divisions{memo: memo, bot: "1", fixed: 4}
	if got, err := d.first(t.Context()); !errors.Is(err, errNoMemory) {
		t.Errorf("the first division is %+v, %v; want the error of the store", got, err)
	}
	if kept, err := memo.Memory.Kept(t.Context(), d.name()); kept != "" || err != nil {
		t.Errorf("%q, %v is stored; want nothing", kept, err)
	}
}

// DR-17: the last logins of a day are kept back, as many as can be under way; a bot without a limit has all.
func TestLoginsAreSpent(t *testing.T) {
	for _, c := range []struct {
		total, remaining, parallel int
		want                       bool
	}{{0, 0, 0, false}, {1000, 1000, 1, false}, {1000, 0, 1, true}, {loginReserve, 1, 1, true}, {loginReserve, 2, 1, false}, {loginReserve, 15, 16, true}, {loginReserve, 16, 16, false}} {
		var i botInfo
		i.Limit.Total, i.Limit.Remaining, i.Limit.Parallel = c.total, c.remaining, c.parallel
		if got := i.spent(); got != c.want {
			t.Errorf("%d of %d logins are left, %d at a time: spent is %t; want %t", c.remaining, c.total, c.parallel, got, c.want)
		}
	}
}
