package telegram

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/sections"
)

// hooked is a process that receives by webhook, with the state of all.
func (r *botHarness) hooked(memo connectors.StateStore) *Telegram {
	deps := connectortest.Deps(r.net.Dial)
	deps.Log, deps.Memo = r.bot.log, memo
	return New(Config{
		Token: sections.Secret(r.Token()), APIURL: "http://" + site + "/", WebhookURL: "https://gateway.test/",
	}, deps)
}

// balance is the public address of the processes: each request goes to the next one.
func (r *botHarness) balance(bots ...*Telegram) {
	var n atomic.Int64
	l := require.Value(r.net.Listen("tcp", "gateway.test:443"))(r.t)
	connectortest.Serve(r.t, l, http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		path, h := bots[int(n.Add(1))%len(bots)].Mount()
		if req.URL.Path != path {
			http.NotFound(rw, req)
			return
		}
		h.ServeHTTP(rw, req)
	}))
	client := r.client()
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.CallWebhook(ctx, client) }()
	r.t.Cleanup(func() { cancel(); <-done; client.CloseIdleConnections() })
}

// client connects to addresses of the test; TLS is that of the proxy.
func (r *botHarness) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: r.net.Dial, DialTLSContext: r.net.Dial}}
}

// call sends a request to the webhook, and returns the status of the response.
func (r *botHarness) call(method, secret, body string) int {
	r.t.Helper()
	client := r.client()
	defer client.CloseIdleConnections()
	req := require.Value(http.NewRequestWithContext(r.t.Context(), method, r.Webhook(), strings.NewReader(body)))(r.t)
	if secret != "" {
		req.Header.Set(secretName, secret)
	}
	resp := require.Value(client.Do(req))(r.t)
	said := require.Value(io.ReadAll(resp.Body))(r.t)
	require.NoError(r.t, resp.Body.Close())
	if resp.StatusCode == http.StatusOK && len(said) > 0 { // Telegram would carry it out as a call
		r.t.Errorf("the response is %q; want none", said)
	}
	return resp.StatusCode
}

// TR-20, TR-36: two processes receive the messages of several chats, each message once and those of a chat in order, also while the store fails.
func TestWebhook(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		memo := &connectortest.Memory{}
		a, b := r.hooked(memo), r.hooked(memo)
		r.balance(a, b)
		r.run(a)
		r.run(b)
		var fails atomic.Int32
		r.Refuse(func(chat.Inbound) error {
			if fails.Add(-1) >= 0 {
				return errors.New("the disk is full")
			}
			return nil
		})
		fails.Store(3)
		all := r.strangers(4)
		for n := range 5 {
			for _, u := range all {
				r.Say(u.room, u.who, fmt.Sprint(n))
			}
		}
		wait(time.Minute)
		got := map[chat.RoomID]string{}
		for _, in := range r.Events() {
			m := in.(chat.Message)
			got[m.Room] += m.Text
		}
		for room, texts := range got {
			if texts != "01234" {
				t.Errorf("%s got %q; want 01234", room, texts)
			}
		}
		if len(got) != len(all) || len(r.Unconfirmed()) != 0 {
			t.Errorf("%d chats, %d updates not confirmed; want %d and none", len(got), len(r.Unconfirmed()), len(all))
		}
		if n := r.count("getUpdates"); n != 0 {
			t.Errorf("%d polls; want none", n)
		}
		// The second process and later checks find the webhook as it should be.
		if n := r.count("setWebhook"); n > 2 {
			t.Errorf("the webhook was set %d times", n)
		}
	})
}

// TR-21, TR-23: only requests with the secret are read; what can never be read is not sent again for a day. No response is a call.
func TestWebhookBadRequests(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		bot := r.hooked(&connectortest.Memory{})
		r.balance(bot)
		stop := r.run(bot)
		secret := r.final("setWebhook").Params["secret_token"]
		good := `{"update_id":7,"message":{"message_id":1,"date":1,"text":"Hi","chat":{"id":5,"type":"private"},"from":{"id":5,"is_bot":false,"first_name":"Ada"}}}`
		for _, c := range []struct {
			method, secret, body string
			want                 int
		}{
			{"POST", "", good, 401},
			{"POST", secret + "x", good, 401},
			{"POST", strings.ToUpper(secret), good, 401},
			{"GET", secret, "", 401},
			{"POST", "", string(bytes.Repeat([]byte("x"), maxUpdate+1)), 401},
			{"POST", secret, string(bytes.Repeat([]byte("x"), maxUpdate+1)), 200},
			{"POST", secret, "", 200},
			{"POST", secret, "{", 200},
			{"POST", secret, `{"message":{}}`, 200},
			{"POST", secret, `{"update_id":3,"shared_widget_query":{"id":"1"}}`, 200},
			{"POST", secret, `{"update_id":4,"message":{"chat":"x"}}`, 200},
			{"POST", secret, good, 200},
			{"POST", secret, good, 200}, // the store recognizes it
		} {
			if got := r.call(c.method, c.secret, c.body); got != c.want {
				t.Errorf("%s %.40q with %.5q: %d; want %d", c.method, c.body, c.secret, got, c.want)
			}
		}
		r.want("Hi", "Hi")
		require.NoError(t, stop())
		if got := r.call("POST", secret, good); got != 503 {
			t.Errorf("after the end: %d; want 503", got)
		}
		wait(time.Second) // the server closes the connections whose bodies it did not read
	})
}

// An update that is being stored is not delivered a second time when the server gives up waiting.
func TestWebhookSlowStore(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		bot := r.hooked(&connectortest.Memory{})
		r.balance(bot)
		r.run(bot)
		r.RefuseAll(errors.New("the disk is full"))
		u := r.strangers(1)[0]
		r.Say(u.room, u.who, "Hi")
		wait(5 * time.Minute)
		r.Refuse(nil)
		wait(2 * time.Minute)
		r.want("Hi")
		if len(r.Unconfirmed()) != 0 {
			t.Error("the update is not confirmed")
		}
	})
}

// From polls to a webhook and back, no message is lost, also not those that come in between.
func TestWebhookSwitch(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		hooked := r.hooked(&connectortest.Memory{})
		r.balance(hooked)
		u, n := r.strangers(1)[0], 0
		say := func() { n++; r.Say(u.room, u.who, fmt.Sprint(n)) }
		for _, bot := range []*Telegram{r.bot, hooked, r.another(), hooked} {
			stop := r.run(bot)
			say()
			wait(time.Minute)
			require.NoError(t, stop())
			say()
		}
		stop := r.run(r.another())
		wait(time.Minute)
		require.NoError(t, stop())
		if got := slices.Compact(r.texts()); !slices.Equal(got, []string{"1", "2", "3", "4", "5", "6", "7", "8"}) {
			t.Errorf("got %q", got)
		}
	})
}

// Another program takes the webhook, or asks for other updates: it is set again. A new token has an address of its own.
func TestWebhookIsKept(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		bot := r.hooked(&connectortest.Memory{})
		r.balance(bot)
		r.run(bot)
		own := r.Webhook()
		var done bool
		for _, params := range []map[string]string{
			{"url": "https://elsewhere.test/"},
			{"url": own, "allowed_updates": `["message"]`, "secret_token": r.final("setWebhook").Params["secret_token"]},
		} {
			require.NoError(t, r.bot.client.call(t.Context(), "setWebhook", params, &done))
			before := r.count("setWebhook")
			wait(2 * hookCheck)
			if r.Webhook() != own || r.count("setWebhook") != before+1 {
				t.Errorf("the webhook is %q after %d requests", r.Webhook(), r.count("setWebhook")-before)
			}
		}
		if other := newWebhook(r.Token()+"x", "https://gateway.test"); other.url == own || other.secret == bot.hook.secret {
			t.Error("another token has the same address")
		}
	})
}

// A group that got a new id stays one room, whichever process learns of it.
func TestWebhookMoves(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		memo := &connectortest.Memory{}
		a, b := r.hooked(memo), r.hooked(memo)
		r.balance(a, b)
		r.run(a)
		r.run(b)
		ada := r.AddUser("Ada", "ada")
		for range 3 {
			group := r.AddGroup("Friends")
			r.Say(group, ada, "@parley_bot before")
			wait(time.Second)
			before := r.last().Room
			group = r.Migrate(group)
			for range 4 {
				r.Say(group, ada, "@parley_bot after")
				wait(time.Second)
				if got := r.last(); got.Room != before || !strings.Contains(got.Text, "after") {
					t.Errorf("%q is in %s; want %s", got.Text, got.Room, before)
				}
			}
		}
		other := r.hooked(memo)
		require.NoError(t, other.moves.load(t.Context()))
		if len(other.moves.to) != 3 {
			t.Errorf("%d moves are stored; want 3", len(other.moves.to))
		}
	})
}

func TestCheckShowsTheWebhook(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		check := func(bot *Telegram, want ...string) {
			t.Helper()
			found := require.Value(bot.Check(t.Context()))(t)
			for _, part := range want {
				if !strings.Contains(found.Text, part) {
					t.Errorf("%q lacks %q", found.Text, part)
				}
			}
		}
		bot := r.hooked(&connectortest.Memory{})
		check(bot, "no webhook yet")
		stop := r.run(bot)
		u := r.strangers(1)[0]
		r.Say(u.room, u.who, "Hi")
		check(bot, "its webhook is set", "1 updates wait")
		require.NoError(t, stop()) // before the first call, which it would answer
		r.balance(bot)
		wait(time.Second)
		check(bot, "1 updates wait", "last error", "503")
		check(r.bot, "will be removed")
		if n := r.count("deleteWebhook"); n != 0 {
			t.Error("a check removed the webhook")
		}
	})
}

// An address makes the bot receive by webhook. Telegram calls only those with a certificate; a server of your own calls others, too.
func TestWebhookAddress(t *testing.T) {
	for url, want := range map[string]string{"": "", "https://a.test": "", "http://a.test": "webhook_url", "a.test": "webhook_url"} {
		for _, api := range []string{"", "http://" + site} {
			if api != "" && strings.HasPrefix(url, "http") {
				want = ""
			}
			c, wrong := Config{WebhookURL: url, APIURL: api, Limits: Limits{time.Second, time.Second, 20, 30}}, ""
			c.Check(func(key, _, _ string) { wrong = cmp.Or(wrong, key) })
			if wrong != want || New(c, connectortest.Deps(nil)).Sharded() != (url != "") {
				t.Errorf("%q with %q: %q is wrong; want %q", url, api, wrong, want)
			}
		}
	}
}
