package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/connectors/telegram/telegramfake"
	"parley/models/modelfake"
	"parley/sim"
)

// environment is the gateway's environment: two platforms, web pages, a model, and users.
type environment struct {
	o          options
	config     string // the text of config.yaml
	sabotage   sabotage
	telegram   *telegramfake.Server
	discord    *discordfake.Server
	model      *modelfake.Server
	browser    *sim.Browser
	webAt      []string  // the addresses of the gateways
	telegramAt []string  // the addresses at which each of them reaches Telegram, which tell its requests from those of the others
	backends   *backends // nil for one gateway
	stops      []func()
	rooms      []*room
	accounts   []string // the accounts on the allowlist
	work       sync.WaitGroup

	mu        sync.Mutex
	luck      *rand.Rand
	questions []*question
	calls     map[string]int // of the model, by question
}

func newWorld(o options) (*environment, error) {
	w := &environment{o: o, sabotage: sabotages()[o.spoil], luck: rand.New(rand.NewPCG(o.seed, 1)), calls: map[string]int{}}
	w.telegram = telegramfake.New(telegramfake.WithFlood(flood()))
	w.discord = discordfake.New()
	w.plan(nil)
	w.model = modelfake.New(modelfake.Options{Choose: w.write})
	discordAt, err := w.serve(w.discord.Handler())
	if err != nil {
		return nil, err
	}
	w.discord.SetGatewayURL("ws://" + discordAt)
	modelAt, err := w.serve(w.model)
	if err != nil {
		return nil, err
	}
	var front http.Handler = w.telegram
	if w.sabotage.front != nil {
		front = w.sabotage.front(front)
	}
	for range max(1, o.replicas) {
		at, err := freePort()
		if err != nil {
			return nil, err
		}
		w.webAt = append(w.webAt, at)
		if at, err = w.serve(late(front, o.latency/2)); err != nil {
			return nil, err
		}
		w.telegramAt = append(w.telegramAt, at)
	}
	if o.replicas > 1 {
		if w.backends, err = newBackends(o.dir); err != nil {
			return nil, err
		}
	}
	balancer := &proxy{to: w.webAt}
	w.browser = &sim.Browser{HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, DialContext: balancer.dial}}, Base: "http://" + w.webAt[0]}
	w.populate()
	return w, w.configure(discordAt, modelAt)
}

// serve starts a server on a free port and returns its address.
func (w *environment) serve(h http.Handler) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for a fake: %w", err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // until close
	w.stops = append(w.stops, func() { _ = s.Close() })
	return l.Addr().String(), nil
}

// freePort returns an address that each process of the gateway can listen on.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// late delays requests on their way to the server. A request arrives even if its sender dies, as on a real network;
// polls end with their connection.
func late(h http.Handler, by time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it was not sent completely
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		time.Sleep(by)
		if !strings.HasSuffix(r.URL.Path, "/getUpdates") {
			r = r.WithContext(context.WithoutCancel(r.Context()))
		}
		h.ServeHTTP(w, r)
	})
}

// configure writes the config.yaml of all gateways. Each has an address of Telegram of its own, from the environment.
func (w *environment) configure(discordAt, modelAt string) error {
	text := fmt.Sprintf(`agent: {summaries: false}
providers: {openai: {base_url: "http://%s/v1"}}
models: {large: {model: %s}}
people: {allowed: ["%s"]}
web: {listen: "%s", origins: ["%s"], limits: {messages_per_minute: 0, conversations_per_hour: 0, open_requests: 0}}
connectors:
  discord: {token: "%s", api_url: "http://%s"}
  telegram: {token: "%s", api_url: "${env:SOAK_TELEGRAM}"}
turns: {direct: queue, group: queue}
log: {format: text}
%s`, modelAt, modelfake.DefaultModel, strings.Join(w.accounts, `", "`), w.webAt[0], w.browser.Base, w.discord.Token(), discordAt, w.telegram.Token(), w.backends.config())
	w.config = text
	return w.writeConfig(text)
}

// writeConfig replaces config.yaml at once, because a gateway may read it at any moment.
func (w *environment) writeConfig(text string) error {
	name := filepath.Join(w.o.dir, "config.yaml")
	if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return os.Rename(name+".new", name)
}

// reconfigure changes the configuration periodically, until ctx is done: the character, and what models are made from.
func (w *environment) reconfigure(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		text := strings.Replace(w.config, "{summaries: false}", fmt.Sprintf(`{summaries: false, bio: ["Version %d."]}`, n), 1)
		if err := w.writeConfig(text + fmt.Sprintf("limits: {parallel: %d, person: {messages: %d}}\n", 2+n%2, 1_000_000+n)); err != nil {
			fmt.Fprintln(os.Stderr, "soak:", err)
		}
	}
}

// populate creates users and rooms. Their intervals stay within the platforms' rate limits, so that only the load decides when the
// gateway is told to wait.
func (w *environment) populate() {
	for i := range 5 {
		u := w.telegram.AddUser("Tess"+strconv.Itoa(i), "")
		w.accounts = append(w.accounts, "telegram:"+strconv.FormatInt(u.ID, 10))
		c := w.telegram.AddPrivate(u)
		w.addTelegram(c, u, "", 6*time.Second)
		if i == 0 {
			g := w.telegram.AddSupergroup("Friends", false)
			w.addTelegram(g, u, "@"+w.telegram.Bot().Username+" ", 20*time.Second)
		}
	}
	guild := w.discord.AddGuild("Friends")
	for i := range 5 {
		u := w.discord.AddUser("Dora" + strconv.Itoa(i))
		w.accounts = append(w.accounts, "discord:"+u)
		w.addDiscord(w.discord.AddDM(u), u, 6*time.Second)
		if i < 2 {
			w.addDiscord(w.discord.AddChannel(guild, "room"+strconv.Itoa(i)), u, 8*time.Second, discordfake.MentionBot())
		}
	}
	for range 6 {
		w.rooms = append(w.rooms, &room{platform: web, every: 6 * time.Second})
	}
}

func (w *environment) addTelegram(c telegramfake.Chat, u telegramfake.User, before string, every time.Duration) {
	w.rooms = append(w.rooms, &room{
		platform: telegram, every: every, most: 4096, name: strconv.FormatInt(c.ID, 10),
		say: func(text string) { w.telegram.Say(c, u, before+text) },
		own: func() (all []message) {
			for _, m := range w.telegram.Messages(c) {
				if m.From.ID == w.telegram.Bot().ID {
					all = append(all, message{strconv.Itoa(m.ID), m.Text, m.Date, latest(m.Date, m.Edited)})
				}
			}
			return all
		},
	})
}

func (w *environment) addDiscord(channel, user string, every time.Duration, with ...discordfake.SayOption) {
	w.rooms = append(w.rooms, &room{
		platform: discord, every: every, most: 2000, name: channel,
		say: func(text string) { w.discord.Say(channel, user, text, with...) },
		own: func() (all []message) {
			for _, m := range w.discord.Messages(channel) {
				if m.ByBot {
					all = append(all, message{m.ID, m.Content, m.At, latest(m.At, m.EditedAt)})
				}
			}
			return all
		},
	})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// close stops the servers. The gateway and everything that waits for it have already ended.
func (w *environment) close() {
	w.backends.close()
	w.discord.Close()
	for _, stop := range w.stops {
		stop()
	}
}
