// Package discord joins Discord to the gateway: what is written to a bot comes in over Discord's gateway, and answers
// are messages that grow by edits.
package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"parley/connectors"
	"parley/core/chat"
	"parley/internal/guard"
	"parley/progressive"
)

// Options is what a [Discord] is made of.
type Options struct {
	Token  string
	APIURL string // of a compatible server; empty for Discord's own
	// Dial opens connections, to the gateway too. Nil means the system's way, with the environment's proxy.
	Dial connectors.Dialer
	Log  *slog.Logger // nil for none
	// Progress is how much people see of calls; empty is [progressive.Compact].
	Progress progressive.Progress
	LongCode progressive.LongCode // empty is [progressive.InMessages]
	// MaxMessages is how many messages an answer has at most; the rest goes into a file. 0: as many as it takes.
	MaxMessages int
	// Memo stores how far Discord's events were accepted, so that a restart loses none. Nil keeps it until the process ends.
	Memo connectors.StateStore
	// CatchUp is the age up to which messages are fetched that no event told of. 0 fetches none.
	CatchUp time.Duration
}

// Discord is one bot.
type Discord struct {
	client   *client
	places   *places
	files    *guard.Client
	dialer   *websocket.Dialer
	token    string
	log      *slog.Logger
	progress progressive.Progress
	code     progressive.LongCode
	most     int // messages of an answer
	memo     connectors.StateStore
	catchUp  time.Duration

	bot  account // once it is known; guarded by busy
	busy chan struct{}
}

// account is who a token belongs to.
type account struct {
	ID   string `json:"id"`
	Name string `json:"username"`
}

var (
	_ connectors.Connector = (*Discord)(nil)
	_ connectors.Poster    = (*Discord)(nil)
	_ connectors.Checker   = (*Discord)(nil)
)

// New returns a bot that has not talked to anybody yet. Settings that can't be right are an error of Run and Check.
func New(o Options) *Discord {
	files := newFiles(o.APIURL, o.Dial)
	var proxy proxy
	if o.Dial == nil {
		proxy = http.ProxyFromEnvironment
		o.Dial = (&net.Dialer{Timeout: tlsTime, KeepAlive: 30 * time.Second}).DialContext
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &Discord{
		client: newClient(o.Token, o.APIURL, o.Dial, proxy), files: files, token: o.Token,
		dialer: &websocket.Dialer{NetDialContext: o.Dial, Proxy: proxy},
		log:    o.Log.With("connector", Name), busy: make(chan struct{}, 1), progress: o.Progress, code: o.LongCode, most: o.MaxMessages,
		memo: o.Memo, catchUp: o.CatchUp,
	}
	if d.memo == nil {
		d.memo = &memory{kept: map[string]string{}}
	}
	if o.Token == "" {
		d.client.wrong = errors.New("connectors.discord.token is empty; create a token at " + portal + " (your application, Bot, Reset Token)")
	}
	d.places = newPlaces(d.client)
	return d
}

// Name implements [connectors.Connector].
func (d *Discord) Name() string { return Name }

// Run implements [connectors.Connector].
func (d *Discord) Run(ctx context.Context, h connectors.Handler) error {
	if d.client.wrong != nil {
		return connectors.Fatal{Err: d.client.wrong}
	}
	defer d.client.http.CloseIdleConnections()
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-d.client.revoked: // any request may hear it
			cancel(errRevoked)
		case <-ctx.Done():
		}
	})
	err := d.serve(ctx, h)
	cancel(nil)
	watch.Wait()
	switch {
	case errors.Is(err, errRevoked), errors.Is(context.Cause(ctx), errRevoked):
		return connectors.Fatal{Err: errRevoked}
	case errors.Is(err, context.Canceled):
		return nil
	}
	return err
}

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
	k, err := newKeeper(ctx, d, me.ID)
	if err != nil {
		return err
	}
	in := newIntake(d, me.ID, h, k)
	g := &gateway{
		client: d.client, dialer: d.dialer, intake: in, mark: k.mark,
		token: d.token, intent: app.intents(), log: d.log, session: k.stored,
	}
	if g.session.Intents != int(g.intent) { // the session tells of other events than are wanted now
		g.session.ID = ""
	}
	keeping, stop := context.WithCancel(ctx)
	var keeps sync.WaitGroup
	keeps.Go(func() { k.run(keeping) })
	err = g.run(ctx)
	in.close()
	stop()
	keeps.Wait()
	k.flush(ctx)
	return err
}

// Close lets go of connections that nobody uses.
func (d *Discord) Close() error {
	d.client.http.CloseIdleConnections()
	return nil
}

// Open implements [connectors.Poster].
func (d *Discord) Open(ctx context.Context, a chat.Address) (progressive.Sink, error) {
	to, err := parseAddress(a.ConnectorData)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", chat.ErrUnreached, err)
	}
	if a.ReplyTo == "" {
		to.Message = "" // what was written there last
	}
	me, err := d.me(ctx)
	switch {
	case errors.Is(err, errRevoked):
		return nil, fmt.Errorf("%w: %w", chat.ErrUnreached, err)
	case err != nil:
		return nil, err
	}
	prose := newProse(d.progress, d.code)
	prose.MaxMessages = d.most
	return &sink{client: d.client, bot: me.ID, to: to, log: d.log, prose: prose}, nil
}

// me asks once who the bot is.
func (d *Discord) me(ctx context.Context) (account, error) {
	select {
	case d.busy <- struct{}{}: // one asks, the others wait
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

// application is what Discord knows of the bot's application.
type application struct {
	ID    string `json:"id"`
	Flags int    `json:"flags"`
	known bool
}

// Flags of applications that have the Message Content intent; the second is for small ones.
const (
	messageContent        = 1 << 18
	messageContentLimited = 1 << 19
)

// permissions are what an invitation asks for: to see channels, write there and in threads, attach files, and read what was
// written.
const permissions = 1<<10 | 1<<11 | 1<<15 | 1<<16 | 1<<38

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

// readsContent says whether messages come with their text; what isn't known is taken for granted (DR-19).
func (a application) readsContent() bool {
	return !a.known || a.Flags&(messageContent|messageContentLimited) != 0
}

// intents leave out what is switched off: a login with it would be refused, and the bot is of use without.
func (a application) intents() discordgo.Intent {
	i := discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages |
		discordgo.IntentGuildMessageReactions | discordgo.IntentDirectMessageReactions
	if a.readsContent() {
		i |= discordgo.IntentMessageContent
	}
	return i
}

func (a application) invitation(me account) string {
	id := a.ID
	if id == "" {
		id = me.ID
	}
	return fmt.Sprintf("https://discord.com/oauth2/authorize?client_id=%s&scope=bot&permissions=%d", id, permissions)
}
