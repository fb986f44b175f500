package discord_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/connectors/discord"
	"parley/connectors/discord/discordfake"
	"parley/core/chat"
)

// guildOn adds a server on a shard, and returns a channel there.
func (w *botHarness) guildOn(shard, shards int) string {
	return w.fake.AddChannel(w.fake.AddGuildOn(fmt.Sprint("guild ", shard), shard, shards), "general")
}

// wantShards wants exactly all shards of a division to be connected.
func (w *botHarness) wantShards(n int) {
	w.Helper()
	var want [][2]int
	for i := range n {
		want = append(want, [2]int{i, n})
	}
	if got := w.fake.Shards(); !slices.Equal(got, want) {
		w.Errorf("connected are the shards %v, want all of %d\n%s", got, n, w.log.String())
	}
}

// wantSpaced wants that no login was earlier than Discord allows.
func (w *botHarness) wantSpaced() {
	w.Helper()
	for i, id := range w.fake.Identifies() {
		if !id.Accepted {
			w.Errorf("login %d was refused: %+v", i, id)
		}
	}
}

// crowd says things in several channels.
type crowd struct {
	*botHarness
	channels []string
	said     []string
}

// everywhere says a text in all channels.
func (c *crowd) everywhere(text string) {
	for i, channel := range c.channels {
		c.said = append(c.said, fmt.Sprint(text, i))
		c.fake.Say(channel, c.ann, c.said[len(c.said)-1])
		c.settle()
	}
}

// heard wants that the bot has heard all that was said, once, in any order.
func (c *crowd) heard() {
	c.Helper()
	if got, want := slices.Sorted(slices.Values(c.texts())), slices.Sorted(slices.Values(c.said)); !slices.Equal(got, want) {
		c.Errorf("heard %q, want %q", got, want)
	}
}

// DR-17, DR-20: a process alone has all shards that Discord recommends, logs in one after the other, and hears each message once.
func TestShards(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.launch()
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if n := len(w.fake.Shards()); n != 3 {
			t.Errorf("%d shards after 12 s; want 3", n)
		}
		if said := w.bot.Limited(); !regexp.MustCompile(`^of the 4 shards of the bot on Discord, \d is not connected$`).MatchString(said) {
			t.Errorf("limited: %q", said)
		}
		time.Sleep(10 * time.Second)
		w.wantShards(4)
		w.wantSpaced()
		if said := w.bot.Limited(); said != "" {
			t.Errorf("limited: %q; want none", said)
		}
		var want []string
		for i := range 4 {
			text := fmt.Sprint("on shard ", i)
			w.fake.Say(w.guildOn(i, 4), w.ann, text)
			w.settle()
			want = append(want, text)
		}
		w.fake.Say(w.fake.AddDM(w.ann), w.ann, "direct")
		w.settle()
		w.wantTexts(append(want, "direct")...)
		if n := len(w.inboundMessages()); n != 5 {
			t.Errorf("%d events; want 5", n)
		}
	}, discordfake.WithShards(4))
}

// DR-17: as many logins at a time as Discord allows.
func TestShardsLogInInParallel(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.launch()
		time.Sleep(7 * time.Second)
		synctest.Wait()
		w.wantShards(16)
		w.wantSpaced()
		if n := w.count(discordfake.GetGatewayBot); n > 3 {
			t.Errorf("asked %d times; want at most 3", n)
		}
	}, discordfake.WithShards(16), discordfake.WithIdentifyLimit(1000, 8))
}

// DR-15: each shard resumes its own session, in the next process too.
func TestShardsResume(t *testing.T) {
	withBot(t, func(w *botHarness) {
		all := crowd{botHarness: w, channels: []string{w.guildOn(0, 3), w.guildOn(1, 3), w.guildOn(2, 3)}}
		w.launch()
		time.Sleep(20 * time.Second)
		w.wantShards(3)
		w.fake.CutGateway()
		all.everywhere("after a cut ")
		time.Sleep(10 * time.Second)
		w.wantShards(3)
		w.restart()
		all.everywhere("after a restart ")
		w.launch()
		time.Sleep(5 * time.Second)
		w.wantShards(3)
		all.heard()
		if logins, resumes := len(w.fake.Identifies()), len(w.fake.Resumes()); logins != 3 || resumes != 6 {
			t.Errorf("%d logins and %d resumes; want 3 and 6", logins, resumes)
		}
		if n := w.count(discordfake.GetGatewayBot); n > 3 {
			t.Errorf("asked %d times; want at most 3", n)
		}
	}, discordfake.WithShards(3))
}

// DR-16, DR-20: a bot that is in too many servers gets more shards, which search for what was missed meanwhile in all channels. It
// stays with their number.
func TestTooFewShards(t *testing.T) {
	withBot(t, func(w *botHarness) {
		all := crowd{botHarness: w, channels: []string{w.channel, w.guildOn(0, 3), w.guildOn(1, 3), w.guildOn(2, 3), w.fake.AddDM(w.ann)}}
		w.start()
		all.everywhere("before ")
		time.Sleep(20 * time.Second)
		w.stop()
		all.everywhere("meanwhile ")
		w.guildOn(0, 3) // one more than a shard takes
		w.fake.SetShards(3)
		time.Sleep(10 * time.Minute) // the session is over
		w.beginRun()
		w.launch()
		time.Sleep(40 * time.Second)
		w.wantShards(3)
		all.everywhere("after ")
		all.heard()
		w.wantLogged("now has more of them", "before=1 now=3")
		w.fake.SetShards(8)
		w.restart()
		w.launch()
		time.Sleep(5 * time.Second)
		w.wantShards(3)
	}, discordfake.WithGuildLimit(4), discordfake.WithShards(1))
}

// DR-16: if Discord demands more shards and recommends no more, their number is doubled.
func TestTooFewShardsAreRecommended(t *testing.T) {
	withBot(t, func(w *botHarness) {
		for i := range 8 {
			w.guildOn(i, 8)
		}
		w.launch()
		time.Sleep(90 * time.Second)
		w.wantShards(8)
	}, discordfake.WithGuildLimit(2), discordfake.WithShards(2))
}

// The number of shards of the settings counts, whatever Discord recommends, and one that is too small is an error.
func TestShardsOfTheSettings(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.shards = 2
		w.restart()
		w.launch()
		time.Sleep(20 * time.Second)
		w.wantShards(2)
		w.shards = 3
		w.restart()
		w.launch()
		time.Sleep(20 * time.Second)
		w.wantShards(3)
		w.wantSpaced()
		w.stop()
		for i := range 6 {
			w.guildOn(i%3, 3)
		}
		time.Sleep(10 * time.Minute)
		w.restart()
		w.launch()
		if said := w.fatal(); !strings.Contains(said, "too many servers for 3 shards; set connectors.discord.shards to auto") {
			t.Errorf(`said %q; want it to contain "too many servers for 3 shards; set connectors.discord.shards to auto"`, said)
		}
	}, discordfake.WithGuildLimit(2))
}

// Two processes that enlarge at once can store different numbers of shards under the same names. A session of the one is not
// resumed for the other: it has other servers.
func TestSessionOfAnotherDivision(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.launch()
		time.Sleep(20 * time.Second)
		w.wantShards(2)
		w.stop()
		w.mu.Lock()
		for name, value := range w.kept {
			if strings.HasSuffix(name, "/shards") {
				w.kept[name] = strings.Replace(value, `"shards":2`, `"shards":3`, 1)
			}
		}
		w.mu.Unlock()
		w.beginRun()
		w.launch()
		time.Sleep(30 * time.Second)
		w.wantShards(3)
		if n := len(w.fake.Resumes()); n != 0 {
			t.Errorf("%d sessions were resumed; want none", n)
		}
	}, discordfake.WithShards(2))
}

// DR-17: the last logins of a day are never used. The others wait for the next day, say so once in the log, and at /readyz.
func TestLastLoginsAreKept(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.launch()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := len(w.fake.Identifies()); n != 2 {
			t.Errorf("%d logins; want 2", n)
		}
		if said := w.bot.Limited(); !regexp.MustCompile(`^of the 4 .*, \d and \d are not connected: today's logins are used up until 20..-..-.. 00:00 UTC$`).MatchString(said) {
			t.Errorf("limited: %q", said)
		}
		if n := strings.Count(w.log.String(), "today's logins are used up"); n != 1 {
			t.Errorf("logged %d times; want 1", n)
		}
		time.Sleep(25 * time.Hour)
		w.wantShards(4)
		if said := w.bot.Limited(); said != "" {
			t.Errorf("limited: %q; want none", said)
		}
	}, discordfake.WithShards(4), discordfake.WithIdentifyLimit(200, 1), discordfake.WithSpentIdentifies(196))
}

// replicas are processes of one bot with one store.
type replicas struct {
	*botHarness
	store connectortest.Leases
	ends  map[string]func()

	mu   sync.Mutex
	seen map[chat.MemoryID]string // who was first to hear a message
}

func (w *botHarness) replicas() *replicas {
	return &replicas{botHarness: w, ends: map[string]func(){}, seen: map[chat.MemoryID]string{}}
}

// begin starts a process.
func (r *replicas) begin(name string) *discord.Discord {
	log := slog.New(slog.NewTextHandler(&r.log, nil)).With("process", name)
	bot := discord.New(discord.Config{Token: token, APIURL: "http://discord.test:80", CatchUp: time.Hour}, connectors.Deps{
		Log: log, Dial: r.net.Dial, Shards: connectors.NewShards(&r.store, &r.store, discord.Name, name, log),
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- bot.Run(ctx, func(ctx context.Context, in chat.Inbound) (chat.Accepted, error) {
			if m, ok := in.(chat.Message); ok {
				r.mu.Lock()
				first := r.seen[m.ID]
				r.seen[m.ID] = name
				r.mu.Unlock()
				if first != "" {
					return chat.Accepted{}, nil // the store recognizes it by its id
				}
			}
			return r.Handle(ctx, in)
		})
	}()
	r.ends[name] = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.Errorf("Run of %s: %v", name, err)
		}
		_ = bot.Close()
	})
	return bot
}

// DI-08, DR-20: several processes share the shards. When one of them dies, the others take its shards when its leases have ended,
// resume its sessions, and nothing is lost or heard twice.
func TestReplicasShareShards(t *testing.T) {
	withBot(t, func(w *botHarness) {
		r := w.replicas()
		all := crowd{botHarness: w}
		for i := range 4 {
			all.channels = append(all.channels, w.guildOn(i, 4))
		}
		a, b, c := r.begin("a"), r.begin("b"), r.begin("c")
		time.Sleep(time.Minute)
		w.wantShards(4)
		w.wantSpaced()
		all.everywhere("before ")
		logins := len(w.fake.Identifies())
		r.store.Cut("a", true) // it can't extend its leases, so it ends before others take its shards
		all.everywhere("meanwhile ")
		time.Sleep(20 * time.Second)
		w.wantShards(4)
		all.everywhere("after ")
		r.ends["b"]() // a shutdown
		all.everywhere("at last ")
		time.Sleep(5 * time.Second)
		w.wantShards(4)
		all.heard()
		if n := len(w.fake.Identifies()); n != logins {
			t.Errorf("%d more logins: the sessions were not resumed", n-logins)
		}
		for _, bot := range []*discord.Discord{a, b, c} {
			if said := bot.Limited(); said != "" {
				t.Errorf("limited: %q; want none", said)
			}
		}
		r.store.Cut("a", false)
		time.Sleep(time.Minute)
		w.wantShards(4)
		r.ends["a"]()
		r.ends["c"]()
	}, discordfake.WithShards(4))
}

// DR-16, DR-20: if one process learns that there are too few shards, all begin again with the same number.
func TestReplicasEnlarge(t *testing.T) {
	withBot(t, func(w *botHarness) {
		r := w.replicas()
		r.begin("a")
		r.begin("b")
		time.Sleep(30 * time.Second)
		w.wantShards(2)
		for i := range 4 {
			w.guildOn(i%2, 2)
		}
		w.fake.SetShards(5)
		w.fake.CloseGateway(4009) // the sessions are over, and a login is refused
		time.Sleep(time.Minute)
		w.wantShards(5)
		r.ends["a"]()
		r.ends["b"]()
	}, discordfake.WithShards(2), discordfake.WithGuildLimit(2))
}
