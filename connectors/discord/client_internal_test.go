package discord

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

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

// A division that can't be read is not replaced: the sessions of other processes depend on it.
func TestDivisionIsNotReplacedUnread(t *testing.T) {
	memo, down := &connectortest.Memory{}, errors.New("the disk is gone")
	memo.Fail(down)
	d := &divisions{memo: memo, bot: "1", fixed: 4}
	if got, err := d.first(t.Context()); !errors.Is(err, down) {
		t.Errorf("the first division is %+v, %v; want the error of the store", got, err)
	}
	if kept := memo.Stored(); len(kept) > 0 {
		t.Errorf("%q is stored; want nothing", kept)
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

// An owner can tell channels of the same name apart: by their categories, and by their ids if these are the same.
func TestWritable(t *testing.T) {
	all := []guildChannel{
		{ID: "1", Name: "Chess", Type: 4}, {ID: "2", Name: "Go", Type: 4}, {ID: "3", Name: "Talk", Parent: "1"}, {ID: "4", Name: "talk", Parent: "2"},
		{ID: "5", Name: "news", Parent: "2"}, {ID: "6", Name: "news", Parent: "2"}, {ID: "7", Name: "news"}, {ID: "8", Name: "rules", Parent: "1"},
		{ID: "9", Name: "talk", Parent: "404", Flags: maskedChannel}, {ID: "x", Name: "talk"},
	}
	var names []string
	for _, c := range writable(all) {
		names = append(names, c.Name)
	}
	if want := []string{"Talk (Chess)", "talk (Go)", "news (Go) (5)", "news (Go) (6)", "news", "rules"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

// DR-15: a session is resumed where its READY says, if that can be.
func TestResumeAddress(t *testing.T) {
	g := &gateway{login: "wss://gateway.discord.gg", intent: 513}
	for said, want := range map[string]string{
		`""`:                                    "wss://gateway.discord.gg",
		`null`:                                  "wss://gateway.discord.gg",
		`"https://evil.example"`:                "wss://gateway.discord.gg",
		`"wss://gateway-us-east1-b.discord.gg"`: "wss://gateway-us-east1-b.discord.gg",
	} {
		s := g.newSession(frame{Seq: 1, Data: []byte(`{"session_id":"s","resume_gateway_url":` + said + `}`)})
		if s.URL != want || s.ID != "s" || s.Seq != 1 || s.Intents != 513 || s.At.IsZero() {
			t.Errorf("%s: %+v", said, s)
		}
	}
}

func TestRoutes(t *testing.T) {
	for path, want := range map[string]route{
		"users/@me":                         {"GET /users/@me", ""},
		"channels/12/messages/34":           {"GET /channels/{id}/messages/{id}", "12"},
		"channels/12/messages?limit=1&a=34": {"GET /channels/{id}/messages", "12"},
	} {
		if got := routeOf("GET", path); got != want {
			t.Errorf("%s: %+v; want %+v", path, got, want)
		}
	}
}

// DR-01: a reply states the remaining budget only with both of its numbers.
func TestRepliesThatTellNoLimit(t *testing.T) {
	for name, c := range map[string]struct {
		left, after string
		held        bool
	}{
		"nothing left":   {"0", "5", true},
		"one left":       {"1", "5", false},
		"no number left": {"", "5", false},
		"no integer":     {"few", "5", false},
		"no time":        {"0", "", false},
		"no time to go":  {"0", "0", false},
		"time gone by":   {"0", "-1", false},
		"neither":        {"", "", false},
	} {
		l, r, now := newLimits(), routeOf("POST", "channels/12/messages"), time.Now()
		h := http.Header{}
		for name, value := range map[string]string{"X-RateLimit-Remaining": c.left, "X-RateLimit-Reset-After": c.after} {
			if value != "" {
				h.Set(name, value)
			}
		}
		l.learn(r, h, now)
		if err := l.enter(r, now); (err != nil) != c.held {
			t.Errorf("%s: the next request gets %v", name, err)
		}
	}
}
