package stories_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/telegram"
	"parley/connectors/telegram/telegramfake"
	"parley/models/modelfake"
)

// byWebhook lets Telegram send its messages.
func byWebhook(cfg *config.Config) {
	configtest.Section[telegram.Config](cfg.Connectors).WebhookURL = "https://chat.example.org"
}

// callWebhook runs the calls of Telegram's until the test ends. dial connects to the proxy before the gateways.
func callWebhook(t *testing.T, fake *telegramfake.Server, dial func(ctx context.Context) (net.Conn, error)) {
	connect := func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	client := &http.Client{Transport: &http.Transport{DialTLSContext: connect}}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { fake.CallWebhook(ctx, client) })
	t.Cleanup(func() { cancel(); all.Wait(); client.CloseIdleConnections() })
}

// Messages come over the web listener, also those from before the start and those that were sent while the gateway was down. A gateway
// that polls again takes over.
func TestTelegramWebhook(t *testing.T) {
	onPlatform(t, platforms()[0], byWebhook, func(c *chatHarness) {
		fake := c.Platform.(*telegramworld.Platform).Fake
		callWebhook(c.T, fake, func(ctx context.Context) (net.Conn, error) { return c.net.Dial(ctx, "tcp", webAt) })
		c.Say(connectortest.Ada, c.ada, "one")
		c.Mention(connectortest.Bob, c.group, "two")
		c.wantShown(c.ada, "You said: one")
		c.reload(func(cfg *config.Config) { cfg.Agent.System = "Other" })
		c.Say(connectortest.Ada, c.ada, "reloaded")
		c.wantShown(c.ada, "You said: one", "You said: reloaded")
		c.crash()
		c.Say(connectortest.Ada, c.ada, "three")
		c.Pass(time.Minute)
		c.start()
		c.Pass(5 * time.Minute)
		c.wantShown(c.ada, "You said: one", "You said: reloaded", "You said: three")
		c.shutdown()
		c.Say(connectortest.Ada, c.ada, "four")
		configtest.Section[telegram.Config](c.cfg.Connectors).WebhookURL = ""
		c.start()
		c.Pass(time.Minute)
		c.wantShown(c.ada, "You said: one", "You said: reloaded", "You said: three", "You said: four")
		c.wantModelCalls(5)
		if fake.Webhook() != "" {
			t.Error("the webhook is still set")
		}
	})
}

// Two replicas take the messages of ten chats; one is killed while it answers. Each question is answered once, and no request was refused
// for its rate.
func TestWebhookReplicas(t *testing.T) {
	const rest = ", and this is my whole answer, which is long enough that a replica can die while it is being written."
	r := startReplicas(t, 2, "queue", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Pace(400 * time.Millisecond), modelfake.Text("You said "+q.LastUser()+rest, modelfake.ByWord)}
	}}), byWebhook)
	var turn, dead atomic.Int64
	dead.Store(-1)
	callWebhook(t, r.telegram, func(ctx context.Context) (net.Conn, error) {
		i := turn.Add(1) % 2
		if i == dead.Load() {
			i = 1 - i
		}
		return new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(r.nodes[i].Base, "http://"))
	})
	type person struct {
		user telegramfake.User
		chat telegramfake.Chat
	}
	var all []person
	for n := range 10 {
		u := r.telegram.AddUser(fmt.Sprint("Ada ", n), "")
		all = append(all, person{u, r.telegram.AddPrivate(u)})
		r.telegram.Say(all[n].chat, u, fmt.Sprintf("question %d", n))
	}
	answered := func() (full, messages int) {
		for n, p := range all {
			for _, m := range r.telegram.Messages(p.chat) {
				if m.From.IsBot {
					messages++
				}
				if m.Text == fmt.Sprintf("You said question %d", n)+rest {
					full++
				}
			}
		}
		return full, messages
	}
	r.waitUntil("ten answers that have begun and are recorded", func() bool { _, begun := answered(); return begun == 10 && r.recordedMessages() == 10 })
	dead.Store(0)
	r.nodes[0].kill()
	r.waitUntil("ten whole answers", func() bool { full, _ := answered(); return full == 10 })
	if _, messages := answered(); messages != 10 {
		t.Errorf("%d messages; want 10", messages)
	}
	for _, q := range r.telegram.Log() {
		if q.Status == http.StatusTooManyRequests || q.Method == "getUpdates" {
			t.Errorf("%s: %d", q.Method, q.Status)
		}
	}
}
