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
	"parley/internal/require"
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

// wholeAnswer ends each answer of tenChats. It is long enough that a replica can die while it is being written.
const wholeAnswer = ", and this is my whole answer, which is long enough that a replica can die while it is being written."

// tenChats are two replicas that Telegram calls, and ten people who have asked.
type tenChats struct {
	*replicas
	dead  atomic.Int64 // the replica that the proxy leaves out
	users []telegramfake.User
	chats []telegramfake.Chat
}

func askInTenChats(t *testing.T, change ...func(*config.Config)) *tenChats {
	r := &tenChats{}
	r.replicas = startReplicas(t, 2, "queue", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Pace(400 * time.Millisecond), modelfake.Text("You said "+q.LastUser()+wholeAnswer, modelfake.ByWord)}
	}}), append(change, byWebhook)...)
	var turn atomic.Int64
	r.dead.Store(-1)
	callWebhook(t, r.telegram, func(ctx context.Context) (net.Conn, error) {
		i := turn.Add(1) % 2
		if i == r.dead.Load() {
			i = 1 - i
		}
		return new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(r.nodes[i].Base, "http://"))
	})
	for n := range 10 {
		u := r.telegram.AddUser(fmt.Sprint("Ada ", n), "")
		r.users, r.chats = append(r.users, u), append(r.chats, r.telegram.AddPrivate(u))
		r.telegram.Say(r.chats[n], u, fmt.Sprintf("question %d", n))
	}
	return r
}

// answered returns the numbers of whole answers and of the bot's messages.
func (r *tenChats) answered() (full, messages int) {
	for n, c := range r.chats {
		for _, m := range r.telegram.Messages(c) {
			if m.From.IsBot {
				messages++
			}
			if m.Text == fmt.Sprintf("You said question %d", n)+wholeAnswer {
				full++
			}
		}
	}
	return full, messages
}

// kill ends the first replica without warning.
func (r *tenChats) kill() {
	r.dead.Store(0)
	r.nodes[0].kill()
}

// wantNoHolds checks that no request was refused for its rate, and that no replica polled.
func (r *tenChats) wantNoHolds() {
	r.Helper()
	for _, q := range r.telegram.Log() {
		if q.Status == http.StatusTooManyRequests || q.Method == "getUpdates" {
			r.Errorf("%s: %d", q.Method, q.Status)
		}
	}
}

// Two replicas take the messages of ten chats; one is killed while it answers. Each question is answered once, and no request was refused
// for its rate.
func TestWebhookReplicas(t *testing.T) {
	r := askInTenChats(t)
	r.waitUntil("ten answers that have begun and are recorded", func() bool { _, begun := r.answered(); return begun == 10 && r.recordedMessages() == 10 })
	r.kill()
	r.waitUntil("ten whole answers", func() bool { full, _ := r.answered(); return full == 10 })
	if _, messages := r.answered(); messages != 10 {
		t.Errorf("%d messages; want 10", messages)
	}
	r.wantNoHolds()
}

// The same with rich drafts. Stop is pressed in one of them. Then one replica is killed: its drafts vanish, the other one answers, and
// each answer is there once. In a group, /usage is answered for its author alone.
func TestWebhookReplicasWithDrafts(t *testing.T) {
	r := askInTenChats(t, func(cfg *config.Config) {
		own := configtest.Section[telegram.Config](cfg.Connectors)
		own.Streaming, own.Format = telegram.StreamDrafts, telegram.FormatRich
	})
	drafts := func() (all int) {
		for _, c := range r.chats {
			for _, d := range r.telegram.Drafts(c) {
				if strings.HasPrefix(d.Text, "You said") {
					all++
				}
			}
		}
		return all
	}
	r.waitUntil("ten drafts", func() bool { return drafts() == 10 })
	stopped := r.chats[9]
	last := func(c telegramfake.Chat) telegramfake.Message {
		all := r.telegram.Messages(c)
		return all[len(all)-1]
	}
	r.telegram.StopDraft(stopped, r.telegram.Drafts(stopped)[0])
	r.waitUntil("the stopped answer", func() bool {
		m := last(stopped)
		return m.Rich != nil && strings.HasPrefix(m.Text, "You said question 9")
	})
	r.waitUntil("its stored end", func() bool { // if the process died before, the other one would send it again, with a mark
		rooms := require.Value(r.nodes[0].store.OpenRooms(r.Context()))(r)
		return len(rooms) == 9
	})
	r.kill()
	group := r.telegram.AddSupergroup("Crew", false)
	r.telegram.SayEphemeral(group, r.users[0], "/usage")
	r.waitUntil("the usage", func() bool { return last(group).From.IsBot })
	if m := last(group); m.Receiver != r.users[0].ID {
		t.Errorf("everyone reads %q", m.Text)
	}
	r.waitUntil("nine whole answers", func() bool { full, _ := r.answered(); return full == 9 })
	if _, messages := r.answered(); messages != 10 {
		t.Errorf("%d messages; want 10", messages)
	}
	r.wantNoHolds()
}
