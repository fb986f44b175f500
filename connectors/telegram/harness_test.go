package telegram

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/connectors/telegram/telegramfake"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/sections"
	"parley/progressive"
	"parley/sim"
)

const site = "telegram.test:80"

// botHarness is a bot and its server, in one bubble.
type botHarness struct {
	*telegramfake.Server
	connectortest.Inbox
	t   *testing.T
	net *sim.Net
	bot *Telegram
	log *sim.Log
}

// withBot runs f with virtual time. Afterwards no request was wrong in form, and the log holds no token.
func withBot(t *testing.T, f func(*testing.T, *botHarness), opts ...telegramfake.Option) {
	t.Helper()
	spec := require.Value(telegramfake.SharedSpec())(t)
	opts = append(opts, telegramfake.WithSpec(spec))
	synctest.Test(t, func(t *testing.T) {
		r := &botHarness{Server: telegramfake.New(opts...), t: t, net: sim.NewNet(), log: &sim.Log{}}
		l := require.Value(r.net.Listen("tcp", site))(t)
		connectortest.Serve(t, l, r.Server)
		r.bot = r.another()
		f(t, r)
		for _, bad := range r.Rejected() {
			t.Errorf("rejected %s %v: %s", bad.Method, bad.Params, bad.Reason)
		}
		for _, p := range r.Pings() {
			if !p.Asked {
				t.Errorf("I11: an unasked ping: %+v", p)
			}
		}
		for _, leak := range sim.Leak("log", r.log.String(), r.Token()) {
			t.Error(leak)
		}
	})
}

// newBot is a bot of its own, at the server with the URL base.
func newBot(token, base string, dial connectors.Dialer) *Telegram {
	return New(Config{Token: sections.Secret(token), APIURL: base}, connectortest.Deps(dial))
}

// another is one more process for the same bot.
func (r *botHarness) another() *Telegram {
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	deps := connectortest.Deps(r.net.Dial)
	deps.Log = log
	bot := New(Config{Token: sections.Secret(r.Token()), APIURL: "http://" + site + "/"}, deps)
	r.t.Cleanup(func() { _ = bot.Close() })
	return bot
}

// run starts bot; stop ends it and returns what Run did.
func (r *botHarness) run(bot *Telegram) (stop func() error) {
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- bot.Run(ctx, r.Handle) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() { cancel(); err = <-ended })
		return err
	}
	r.t.Cleanup(func() { _ = stop() })
	synctest.Wait()
	return stop
}

// texts are the messages that the handler took, in order; a command is its name after a slash.
func (r *botHarness) texts() (out []string) {
	for _, in := range r.Events() {
		switch in := in.(type) {
		case chat.Message:
			out = append(out, in.Text)
		case chat.Command:
			out = append(out, "/"+string(in.Name))
		case chat.Edited:
			out = append(out, "edited: "+in.Text)
		}
	}
	return out
}

func (r *botHarness) want(texts ...string) {
	r.t.Helper()
	if got := r.texts(); !slices.Equal(got, texts) {
		r.t.Errorf("handed over %q, want %q", got, texts)
	}
}

// last is the message that was handed over last.
func (r *botHarness) last() chat.Message {
	r.t.Helper()
	all := r.Events()
	if len(all) == 0 {
		r.t.Fatal("the handler got no event; want at least one")
	}
	return all[len(all)-1].(chat.Message)
}

// ask sends a message as a user, and opens the conversation that it begins.
func (r *botHarness) ask(c telegramfake.Chat, from telegramfake.User, text string, opts ...telegramfake.SayOption) *sink {
	r.t.Helper()
	synctest.Wait() // messages of several chats that come together are handed over in any order
	r.Say(c, from, text, opts...)
	return r.open(r.last().Address)
}

func (r *botHarness) open(a chat.Address) *sink {
	r.t.Helper()
	s := require.Value(r.bot.Open(r.t.Context(), a))(r.t)
	return s.(*sink)
}

// private is a person and their chat with the bot, and the conversation there.
func (r *botHarness) private() (telegramfake.Chat, *sink) {
	u := r.AddUser("Ada", "ada")
	c := r.AddPrivate(u)
	return c, newSink(r.bot, address{Chat: c.ID, Message: 1, Kind: private})
}

func (r *botHarness) post(s *sink, markdown string) string {
	r.t.Helper()
	id := require.Value(s.Post(r.t.Context(), s.Render(view(markdown))[0], ""))(r.t)
	return id
}

func view(markdown string) answer.View {
	return answer.View{Segments: []answer.Segment{{Text: markdown}}}
}

// count counts the requests of a method.
func (r *botHarness) count(method string) (n int) {
	for _, q := range r.Log() {
		if q.Method == method {
			n++
		}
	}
	return n
}

// final is the last request of a method.
func (r *botHarness) final(method string) telegramfake.Request {
	r.t.Helper()
	log := r.Log()
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].Method == method {
			return log[i]
		}
	}
	r.t.Fatalf("no %s", method)
	return telegramfake.Request{}
}

func wantFatal(t *testing.T, err error) {
	t.Helper()
	if !errors.As(err, new(connectors.Fatal)) {
		t.Errorf("%v is not fatal", err)
	}
}

// part is one part of plain words.
func part(s string) progressive.Part {
	return progressive.Part{Text: telegramfake.EscapeHTML(s), Plain: s}
}

func wait(d time.Duration) {
	time.Sleep(d) // in a bubble: moves its clock
	synctest.Wait()
}
