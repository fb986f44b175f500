// Package telegram connects one Telegram bot to the gateway.
//
// [New] makes a bot. Run polls for updates: poller decides when to poll, and intake passes the updates to the handler,
// in order within a chat. With a webhook, receiver takes them from Telegram's requests instead. Answers are messages that are posted and then edited while they grow, see sink.
//
// Telegram's server keeps each update until a later poll confirms it by its offset, for at most a day. An update is
// confirmed only after the handler has accepted it and all earlier ones, so a crash at any point makes the server
// deliver it again; the runtime recognizes messages by their ids. The connector itself stores only which groups have
// got new ids, see moves.
//
// The Bot API has neither error codes besides those of HTTP, nor nonces. Errors are therefore recognized by words in
// their descriptions (judge), and a message whose posting had an unknown outcome can't be found again: it is sent a
// second time with a mark, or not at all, as configured.
//
// Only one process can poll for a bot. That is left to [connectors.Lease]. Requests to a webhook can arrive at any
// process.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/chat"
	"parley/internal/lang"
	"parley/progressive"
)

// Telegram is one bot. It implements [connectors.Connector], [connectors.Poster], [connectors.Fetcher] and
// [connectors.Checker]. Nothing in it changes after New, except inside client, moves, drafts, unrich, hook, older and away, which are safe
// for concurrent use; calls of Run must not overlap.
type Telegram struct {
	config  Config
	client  *client
	account account
	wrong   error // invalid options
	moves   *moves
	drafts  drafts
	unrich  refusing // rich messages
	hook    *webhook
	older   atomic.Bool // the server refused a disabled button
	away    atomic.Bool // several polls in a row have failed
	enter   func(context.Context, progressive.Ticket) (leave func(error), err error)
	log     *slog.Logger
}

var (
	_ connectors.Connector = (*Telegram)(nil)
	_ connectors.Poster    = (*Telegram)(nil)
	_ connectors.Checker   = (*Telegram)(nil)
	_ connectors.Mounted   = (*Telegram)(nil)
	_ connectors.Sharded   = (*Telegram)(nil)
	_ connectors.Limited   = (*Telegram)(nil)
)

// New returns a bot without making any request. Run and Check report a malformed token.
func New(c Config, d connectors.Deps) *Telegram {
	t := &Telegram{config: c, client: newClient(c.Token.Reveal(), c.APIURL, d.Dial), enter: d.Enter, log: d.Log.With("connector", Name)}
	t.account, t.wrong = accountOf(c.Token.Reveal())
	t.hook = newWebhook(c.Token.Reveal(), c.WebhookURL)
	if t.Sharded() && d.Shards != nil {
		d.Memo = d.Shards.Memo() // every process records moves
	}
	t.moves = newMoves(t.account, d.Memo)
	return t
}

// Limited implements [connectors.Limited].
func (t *Telegram) Limited() string {
	if t.away.Load() {
		return "the bot on Telegram is not connected"
	}
	return ""
}

var tokenForm = regexp.MustCompile(`^[0-9]{1,19}:[A-Za-z0-9_-]{20,}$`)

// accountOf returns the bot's number, which is the first part of its token.
func accountOf(token string) (account, error) {
	number, _, _ := strings.Cut(token, ":")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !tokenForm.MatchString(token) {
		return 0, errors.New("connectors.telegram.token is not a bot token such as 123456789:AbC…; " +
			"copy the whole token from @BotFather's reply to /token")
	}
	return account(id), nil
}

// Name implements [connectors.Connector].
func (t *Telegram) Name() string { return Name }

// Run implements [connectors.Connector]. It returns a [connectors.Fatal] if the token is malformed or rejected. Other
// failures are retried here, without an end: an outage of Telegram's needs no restart.
func (t *Telegram) Run(ctx context.Context, h connectors.Handler) error {
	if t.wrong != nil {
		return connectors.Fatal{Err: t.wrong}
	}
	defer t.client.http.CloseIdleConnections()
	if t.Sharded() {
		return t.client.token.Watch(ctx, newReceiver(t, h).run)
	}
	return t.client.token.Watch(ctx, newPoller(t, h).run)
}

// Close closes idle connections, for a bot that posts without Run. Its error is always nil.
func (t *Telegram) Close() error {
	t.client.http.CloseIdleConnections()
	return nil
}

// Open implements [connectors.Poster]. It makes no request, but reads the stored moves once. It fails with
// [chat.ErrUnreached] if the address can't be read.
func (t *Telegram) Open(ctx context.Context, a chat.Address) (progressive.Sink, error) {
	own, err := parseAddress(a.ConnectorData)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", chat.ErrUnreached, err)
	}
	if a.ReplyTo == "" {
		// The message and the person in the address are those of the last message there. This text answers neither.
		own.Message, own.Asker = 0, ""
	}
	if err := t.moves.load(ctx); err != nil {
		return nil, err
	}
	s := newSink(t, own)
	if s.prose.Say = lang.Sayer(ctx); s.rich != nil {
		s.rich.Say = s.prose.Say
	}
	if s.whisper, err = parseWhisper(a.Response); err != nil {
		return nil, fmt.Errorf("%w: %w", chat.ErrUnreached, err)
	}
	return s, nil
}

// Check implements [connectors.Checker]. It leaves a webhook alone, because another program may still use it until the
// gateway starts.
func (t *Telegram) Check(ctx context.Context) (found connectors.CheckResult, err error) {
	if t.wrong != nil {
		return found, t.wrong
	}
	defer t.client.http.CloseIdleConnections()
	me, err := t.me(ctx)
	if err != nil {
		return found, advise(err)
	}
	hook, err := t.webhook(ctx)
	if err != nil {
		return found, advise(err)
	}
	found.Link = "https://t.me/" + me.UserName
	found.CodeLink = found.Link + "?start="
	found.Text = fmt.Sprintf("@%s answers at %s", me.UserName, found.Link)
	found.Text += hook.describe(t.hook.url)
	if !me.CanReadAllGroupMessages {
		found.NotReceived = privacy(me.User)
	}
	return found, nil
}

// advise adds to err what to do about it.
func advise(err error) error {
	var r *refusal
	switch {
	case errors.As(err, &r) && r.code == 404:
		return fmt.Errorf("%w: no Bot API there; check connectors.telegram.api_url, and the token", err)
	case errors.Is(err, errUnsent):
		return fmt.Errorf("%w; check the network and connectors.telegram.api_url", err)
	}
	return err
}

// privacy describes the bot's access to messages in groups.
func privacy(me tgbotapi.User) string {
	if me.CanReadAllGroupMessages {
		return "it receives every message in its groups"
	}
	return "privacy mode is on: in groups where it is not an admin it only receives commands, mentions and replies to it. To " +
		"change that, send /setprivacy to @BotFather, then remove the bot from the group and add it again"
}

// profile is the bot's account, with fields that are newer than the library.
type profile struct {
	tgbotapi.User
	Topics     bool `json:"has_topics_enabled"` // in private chats
	UserTopics bool `json:"allows_users_to_create_topics"`
}

// me returns the bot's account.
func (t *Telegram) me(ctx context.Context) (me profile, err error) {
	err = t.client.call(ctx, "getMe", nil, &me)
	return me, err
}

// deleteWebhook makes the server queue updates for polling. Those that wait are kept.
func (t *Telegram) deleteWebhook(ctx context.Context) error {
	var done bool
	return t.client.call(ctx, "deleteWebhook", tgbotapi.Params{"drop_pending_updates": "false"}, &done)
}
