// Package discord connects one Discord bot to the gateway.
//
// Messages arrive over WebSockets, which Discord calls its gateway. [New] makes a bot, and Run keeps its connections. The
// servers of a bot are divided into shards, each with a connection of its own; a bot in few servers has one. divisions
// decides how many there are, and loginQueue when each may log in. Of a shard, gateway decides when to connect and
// whether to resume, link is one connection, and intake passes what arrives to the handler, in order within a channel.
//
// Answers are messages that are posted over REST and then edited while they grow; client makes the requests, and limits
// predicts Discord's rate limits, so that no request is sent that Discord would refuse. Only logins and heartbeats are
// sent over the WebSockets, so no request depends on a shard, and any process can make it.
//
// No message is lost as long as Discord still has it. Discord has no acknowledgement of its own: a session is resumed
// after the event that the bot names. So keeper stores the position of the last event before which the handler has
// accepted everything, and a later process resumes there. Messages that a resume can't bring back (an expired session,
// a channel with too many messages at once) are fetched over REST: see search and gap. Messages can therefore arrive
// twice; the runtime recognizes them by their ids.
//
// Only one process can serve a shard. That is left to [connectors.Shards].
package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"parley/connectors"
	"parley/core/chat"
	"parley/internal/guard"
	"parley/internal/lang"
	"parley/progressive"
)

// Discord is one bot. It implements [connectors.Connector], [connectors.Poster], [connectors.Fetcher] and
// [connectors.Checker]. Calls of Run must not overlap; the other methods are safe for concurrent use, also during Run.
type Discord struct {
	config  Config
	client  *client
	places  *places
	threads *threads
	files   *guard.Client
	dialer  *websocket.Dialer
	log     *slog.Logger

	shards     *connectors.Shards
	logins     *loginQueue
	standing   *standing
	unreactive lookups[bool]                      // channels where the bot can't add reactions
	reported   lookups[bool]                      // channels whose missing permissions the owner was told about
	handler    atomic.Pointer[connectors.Handler] // of Run, for those reports; nil before
	fetches    chan struct{}                      // limits concurrent fetches of missed messages
	acks       *acks
	abouts     *abouts
	commands   func() []chat.CommandSpec // of plugins; can be nil

	// bot is empty until it is known. It is guarded by busy, a mutex that can be waited for with a context.
	bot  account
	busy chan struct{}
}

// Name implements [connectors.Connector].
func (d *Discord) Name() string { return Name }

// Sharded implements [connectors.Sharded].
func (d *Discord) Sharded() bool { return true }

// Run implements [connectors.Connector]. It returns a [connectors.Fatal] if the token is missing or rejected, or if
// Discord forbids another login. When it returns, all goroutines that it started have ended.
func (d *Discord) Run(ctx context.Context, h connectors.Handler) error {
	if d.client.wrong != nil {
		return connectors.Fatal{Err: d.client.wrong}
	}
	defer d.client.http.CloseIdleConnections()
	err := d.client.token.Watch(ctx, func(ctx context.Context) error { return d.serve(ctx, h) })
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// serve connects and passes events to h until ctx is done. It logs the link that invites the bot, which an operator
// needs once.
func (d *Discord) serve(ctx context.Context, h connectors.Handler) error {
	me, err := d.me(ctx)
	if err != nil {
		return err
	}
	app := d.application(ctx)
	d.log.Info("invite the bot with this link", "bot", me.Name, "link", app.invitation(me))
	if !app.readsContent() {
		d.log.Warn("the Message Content intent is off: in servers the bot only receives messages that mention it, and misses replies "+
			"without a mention", "switch it on at", portal)
	}
	ctx, end := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end()
	r := newRegistry(ctx, d, app.idOf(me))
	watching.Go(func() { r.watch(ctx) })
	d.handler.Store(&h)
	b := &bot{Discord: d, me: me, app: app, handler: h}
	return b.run(ctx)
}

// Close closes idle connections, for a bot that posts without Run. Its error is always nil.
func (d *Discord) Close() error {
	d.client.http.CloseIdleConnections()
	return nil
}

// Open implements [connectors.Poster]. It makes no request, except once to learn the bot's own id. It fails with
// [chat.ErrUnreached] if the address can't be read or the token is rejected, because trying again can't help then.
// Other errors are temporary.
func (d *Discord) Open(ctx context.Context, a chat.Address) (progressive.Sink, error) {
	to, err := parseAddress(a.ConnectorData)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", chat.ErrUnreached, err)
	}
	if a.ReplyTo == "" {
		// The message in ConnectorData is only the last one there, not the one that this text answers.
		to.Message = ""
	}
	me, err := d.me(ctx)
	switch {
	case errors.Is(err, errRevoked):
		return nil, fmt.Errorf("%w: %w", chat.ErrUnreached, err)
	case err != nil:
		return nil, err
	}
	s := &sink{client: d.client, bot: me.ID, to: to, log: d.log, report: d.report, prose: d.config.in(to.Guild).Messages(display), threads: d.threads}
	s.prose.Say = lang.Sayer(ctx)
	if len(a.Response) > 0 {
		return newResponse(s, d.acks, a.Response)
	}
	return s, nil
}

// me returns the bot's account, which it looks up once. Only one request is made at a time; other callers wait for its
// result, or until their own ctx is done. A failure is not remembered.
func (d *Discord) me(ctx context.Context) (account, error) {
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }()
	case <-ctx.Done():
		return account{}, context.Cause(ctx)
	}
	if d.bot.ID != "" {
		return d.bot, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var bot account
	if err := d.client.do(ctx, http.MethodGet, "users/@me", nil, &bot); err != nil {
		return account{}, fmt.Errorf("read the bot's account: %w", err)
	}
	if snowflake(bot.ID) == 0 {
		return account{}, errors.New("read the bot's account: the reply has no id; check connectors.discord.api_url")
	}
	d.bot = bot
	return bot, nil
}

// application looks up the bot's application. A failure is logged and not returned: without it the bot still works,
// with the intents that it most probably has.
func (d *Discord) application(ctx context.Context) (a application) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if err := d.client.do(ctx, http.MethodGet, "oauth2/applications/@me", nil, &a); err != nil {
		d.log.Warn("can't read the bot's intents", "err", err)
		return application{}
	}
	a.known = true
	return a
}

// Check implements [connectors.Checker].
func (d *Discord) Check(ctx context.Context) (found connectors.CheckResult, err error) {
	if d.client.wrong != nil {
		return found, d.client.wrong
	}
	defer d.client.http.CloseIdleConnections()
	me, err := d.me(ctx)
	if err != nil {
		return found, advise(err)
	}
	var gateway struct {
		Limit struct {
			Remaining int `json:"remaining"`
			Total     int `json:"total"`
		} `json:"session_start_limit"`
	}
	if err := d.client.do(ctx, http.MethodGet, "gateway/bot", nil, &gateway); err != nil {
		return found, advise(fmt.Errorf("get the Discord gateway URL: %w", err))
	}
	app := d.application(ctx)
	found.Link = app.invitation(me)
	found.Text = fmt.Sprintf("%s has %d of %d logins left today; invite it with %s", me.Name, gateway.Limit.Remaining, gateway.Limit.Total, found.Link)
	if names := d.withoutCommands(ctx, app.idOf(me)); names != "" {
		found.Text += "; slash commands are not shown in " + names + ", where applications.commands is missing: add it there again with this link"
	}
	if !app.readsContent() {
		found.NotReceived = "the Message Content intent is off, so in servers it only receives messages that mention it: switch it on at " + portal
	}
	return found, nil
}

// account identifies the token's owner.
type account struct {
	ID   string `json:"id"`
	Name string `json:"username"`
}

var (
	_ connectors.Connector = (*Discord)(nil)
	_ connectors.Poster    = (*Discord)(nil)
	_ connectors.Checker   = (*Discord)(nil)
	_ connectors.Sharded   = (*Discord)(nil)
	_ connectors.Limited   = (*Discord)(nil)
)

// New returns a bot without making any request. Run and Check report invalid options.
func New(c Config, deps connectors.Deps) *Discord {
	files := newFiles(c.APIURL, deps.Dial)
	var proxy proxy
	if deps.Dial == nil {
		proxy = http.ProxyFromEnvironment
		deps.Dial = (&net.Dialer{Timeout: tlsTime, KeepAlive: 30 * time.Second}).DialContext
	}
	d := &Discord{
		config: c, client: newClient(c.Token.Reveal(), c.APIURL, deps.Dial, proxy), files: files,
		dialer: &websocket.Dialer{NetDialContext: deps.Dial, Proxy: proxy},
		log:    deps.Log.With("connector", Name), busy: make(chan struct{}, 1),
		commands: deps.Commands, shards: deps.Shards, standing: newStanding(), fetches: make(chan struct{}, 2), acks: &acks{open: map[string]chan struct{}{}}, abouts: &abouts{kept: map[string]message{}},
	}
	if d.shards == nil {
		d.shards = connectors.NewShards(nil, deps.Memo, Name, "", d.log)
	}
	d.logins = newLoginQueue(d.client, d.shards, d.log)
	if c.Token == "" {
		d.client.wrong = errors.New("connectors.discord.token is empty; create a token at " + portal + " (your application, Bot, Reset Token)")
	}
	d.places = &places{client: d.client}
	d.threads = &threads{client: d.client, config: &d.config}
	return d
}

// application holds the bot's application as Discord reports it.
type application struct {
	ID    string `json:"id"`
	Flags int    `json:"flags"`
	known bool
}

// readsContent reports whether messages come with their text. If the application is unknown, the intent is assumed to
// be granted.
func (a application) readsContent() bool {
	return !a.known || a.Flags&(messageContent|messageContentLimited) != 0
}

// intents returns the intents to request. A disabled one is left out, because Discord would refuse the login, and the
// bot still works without it.
func (a application) intents() discordgo.Intent {
	i := discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages |
		discordgo.IntentGuildMessageReactions | discordgo.IntentDirectMessageReactions
	if a.readsContent() {
		i |= discordgo.IntentMessageContent
	}
	return i
}

// idOf returns the id of the application of me: if it is unknown, that of the account, which is the same for most bots.
func (a application) idOf(me account) string { return cmp.Or(a.ID, me.ID) }

func (a application) invitation(me account) string {
	return fmt.Sprintf("https://discord.com/oauth2/authorize?client_id=%s&scope=bot+applications.commands&permissions=%d", a.idOf(me), permissions)
}

// Flags of applications with the Message Content intent; the second is for small ones.
const (
	messageContent        = 1 << 18
	messageContentLimited = 1 << 19
)

// permissions are those that an invitation requests: add reactions, view channels, send messages there and in threads, open
// threads, attach files, and read the message history.
const permissions = 1<<6 | 1<<10 | 1<<11 | 1<<15 | 1<<16 | 1<<35 | 1<<38

// advise adds to err what to do about it.
func advise(err error) error {
	var r *refusal
	switch {
	case errors.As(err, &r) && r.status == http.StatusNotFound:
		return fmt.Errorf("%w: no Discord API there; check connectors.discord.api_url", err)
	case errors.Is(err, errUnsent):
		return fmt.Errorf("%w; check the network and connectors.discord.api_url", err)
	}
	return err
}
