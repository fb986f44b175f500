package discord_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/connectors/discord"
	"parley/connectors/discord/discordfake"
	"parley/core/chat"
	"parley/internal/require"
	"parley/progressive"
	"parley/sim"
)

const token = "MTIzNDU2Nzg5MDEyMzQ1Njc4.a-secret.that-must-stay-hidden"

// botHarness is a Discord, a bot there, and what the gateway was told.
type botHarness struct {
	*testing.T
	net     *sim.Net
	fake    *discordfake.Server
	bot     *discord.Discord
	guild   string
	channel string
	ann     string

	connectortest.Inbox
	log    sim.Log
	life   *life
	cancel context.CancelFunc
	ended  chan error

	mu     sync.Mutex
	kept   map[string]string // the state that the bot's processes have stored
	writes int               // of that

	catchUp time.Duration
	shards  int // of the settings; 0 is auto

	presence      string                             // of the settings
	commandGuilds []string                           // of the settings
	plugged       atomic.Pointer[[]chat.CommandSpec] // commands of plugins
}

func loadSpec(t *testing.T) *discordfake.Spec {
	spec := require.Value(discordfake.SharedSpec())(t)
	if spec == nil {
		t.Log("PARLEY_SPECS IS NOT SET: requests are not compared with Discord's description of its API")
	}
	return spec
}

// withBot runs a test in a bubble. At its end nothing may have been refused as malformed, no ping sent, no secret
// logged, and no goroutine be left.
func withBot(t *testing.T, tell func(w *botHarness), opts ...discordfake.Option) {
	t.Helper()
	spec := loadSpec(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 365 * 24 * time.Hour) // a bubble begins in 2000, Discord's ids in 2015
		w := &botHarness{T: t, net: sim.NewNet(), catchUp: time.Hour}
		w.fake = discordfake.New(append([]discordfake.Option{discordfake.WithToken(token), discordfake.WithSpec(spec)}, opts...)...)
		w.guild = w.fake.AddGuild("guild")
		w.channel, w.ann = w.fake.AddChannel(w.guild, "general"), w.fake.AddUser("ann")
		l := require.Value(w.net.Listen("tcp", "discord.test:80"))(t)
		served := make(chan error, 1)
		go func() { served <- w.fake.Serve(l) }()
		w.kept = map[string]string{}
		w.beginRun()
		tell(w)
		w.stop()
		_ = w.bot.Close()
		w.fake.Close()
		<-served
		w.check()
	})
}

// life is one process of the bot, as the store sees it.
type life struct {
	w    *botHarness
	dead bool
}

func (l *life) Keep(_ context.Context, name, value string) error {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if l.dead {
		return chat.ErrCrashed
	}
	l.w.kept[name], l.w.writes = value, l.w.writes+1
	return nil
}

func (l *life) Kept(_ context.Context, name string) (string, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.w.kept[name], nil
}

// written is how often the bot's processes have stored something.
func (w *botHarness) written() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writes
}

// beginRun makes the bot of a new process.
func (w *botHarness) beginRun() {
	w.life = &life{w: w}
	config := discord.Config{Token: token, APIURL: "http://discord.test:80", CatchUp: w.catchUp, CommandGuilds: w.commandGuilds, Presence: w.presence}
	if w.shards > 0 {
		config.Shards = &w.shards
	}
	w.bot = discord.New(config, connectors.Deps{
		Log:  slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Dial: w.net.Dial, Memo: w.life, Commands: func() (all []chat.CommandSpec) {
			if now := w.plugged.Load(); now != nil {
				all = *now
			}
			return all
		},
	})
}

// restart stops the bot as a deployment does; the next start is another process.
func (w *botHarness) restart() {
	w.Helper()
	w.stop()
	_ = w.bot.Close()
	w.beginRun()
}

// kill ends the process at once: nothing is accepted or stored any more, and no connection is closed in order.
func (w *botHarness) kill() {
	w.Helper()
	w.mu.Lock()
	w.life.dead = true
	w.mu.Unlock()
	w.fake.CutGateway()
	w.restart()
}

func (w *botHarness) check() {
	w.Helper()
	for _, r := range w.fake.Rejected() {
		w.Errorf("rejected: %s %s %s: %s", r.Request.Method, r.Request.Path, r.Request.Body, r.Reason)
	}
	if p := w.fake.Pings(); len(p) > 0 {
		w.Errorf("I11: pings %+v; want none", p)
	}
	if found := sim.Leak("the log", w.log.String(), token, ":secret"); len(found) > 0 {
		w.Errorf("I9: %v; want none", found)
	}
}

// start runs the bot and returns when it hears.
func (w *botHarness) start() {
	w.Helper()
	w.launch()
	w.settle()
	if w.fake.Sessions() != 1 {
		w.Fatalf("not connected: %s", w.log.String())
	}
}

func (w *botHarness) launch() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended = cancel, make(chan error, 1)
	bot, life := w.bot, w.life
	go func() {
		w.ended <- bot.Run(ctx, func(ctx context.Context, in chat.Inbound) (chat.Accepted, error) {
			w.mu.Lock()
			dead := life.dead
			w.mu.Unlock()
			switch {
			case dead:
				return chat.Accepted{}, chat.ErrCrashed
			case ctx.Err() != nil:
				return chat.Accepted{}, ctx.Err()
			}
			return w.Handle(ctx, in)
		})
	}()
}

// settle lets a moment pass.
func (w *botHarness) settle() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

// stop ends the bot, if it runs, and wants that to be quick and without an error.
func (w *botHarness) stop() {
	w.Helper()
	if w.cancel == nil {
		return
	}
	w.cancel()
	if err := <-w.ended; err != nil {
		w.Errorf("Run: %v", err)
	}
	w.cancel = nil
}

// fatal waits for the bot to give up.
func (w *botHarness) fatal() string {
	w.Helper()
	err := <-w.ended
	w.cancel()
	w.cancel = nil
	if !errors.As(err, new(connectors.Fatal)) {
		w.Fatalf("want a fatal error, got %v", err)
	}
	if found := sim.Leak("the error", err.Error(), token); len(found) > 0 {
		w.Errorf("I9: %v; want none", found)
	}
	return err.Error()
}

func (w *botHarness) inboundMessages() []chat.Inbound {
	return slices.DeleteFunc(w.Events(), func(in chat.Inbound) bool {
		j, ok := in.(chat.Joined)
		return ok && j.Entity.ID == "" // each session is told where the bot is
	})
}

// texts are the texts of all messages, each once, in the order in which they came first (the runtime knows repeats by
// their id).
func (w *botHarness) texts() (texts []string) {
	seen := map[chat.MemoryID]bool{}
	for _, m := range w.Received() {
		if !seen[m.ID] {
			seen[m.ID] = true
			texts = append(texts, m.Text)
		}
	}
	return texts
}

func (w *botHarness) wantTexts(want ...string) {
	w.Helper()
	if got := w.texts(); !slices.Equal(got, want) {
		w.Errorf("heard %q, want %q", got, want)
	}
}

func (w *botHarness) say(text string, with ...discordfake.SayOption) string {
	return w.fake.Say(w.channel, w.ann, text, with...)
}

// open opens the conversation of the last message.
func (w *botHarness) open() progressive.Sink {
	w.Helper()
	return w.openAt(w.newest().Address)
}

func (w *botHarness) openAt(a chat.Address) progressive.Sink {
	w.Helper()
	s := require.Value(w.bot.Open(w.Context(), a))(w)
	return s
}

// newest is the message that was heard last.
func (w *botHarness) newest() chat.Message {
	w.Helper()
	all := w.Received()
	if len(all) == 0 {
		w.Fatal("the handler got no message; want at least one")
	}
	return all[len(all)-1]
}

// count counts the requests of a route.
func (w *botHarness) count(r discordfake.Route) (n int) {
	for _, q := range w.fake.Log() {
		if q.Route == r {
			n++
		}
	}
	return n
}

func (w *botHarness) wantLogged(words ...string) {
	w.Helper()
	log := w.log.String()
	for _, s := range words {
		if !strings.Contains(log, s) {
			w.Errorf("%q is not in the log:\n%s", s, log)
		}
	}
}
