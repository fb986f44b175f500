// Package telegram connects Telegram to the gateway. It receives messages by long polling; answers are messages that
// grow by edits.
package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/chat"
	"parley/core/command"
	"parley/progressive"
)

// Telegram is one bot. The server keeps track of the confirmed updates.
type Telegram struct {
	config  Config
	client  *client
	account account
	wrong   error // invalid options
	moves   *moves
	log     *slog.Logger
}

var (
	_ connectors.Connector = (*Telegram)(nil)
	_ connectors.Poster    = (*Telegram)(nil)
	_ connectors.Checker   = (*Telegram)(nil)
)

// New returns a bot without making any request. Run and Check report a malformed token.
func New(c Config, d connectors.Deps) *Telegram {
	t := &Telegram{config: c, client: newClient(c.Token.Reveal(), c.APIURL, d.Dial), log: d.Log.With("connector", Name)}
	t.account, t.wrong = accountOf(c.Token.Reveal())
	t.moves = newMoves(t.account, d.Memo)
	return t
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

// Run implements [connectors.Connector].
func (t *Telegram) Run(ctx context.Context, h connectors.Handler) error {
	if t.wrong != nil {
		return connectors.Fatal{Err: t.wrong}
	}
	defer t.client.http.CloseIdleConnections()
	return t.client.token.Watch(ctx, newPoller(t, h).run)
}

// Close closes idle connections.
func (t *Telegram) Close() error {
	t.client.http.CloseIdleConnections()
	return nil
}

// Open implements [connectors.Poster].
func (t *Telegram) Open(ctx context.Context, a chat.Address) (progressive.Sink, error) {
	own, err := parseAddress(a.ConnectorData)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", chat.ErrUnreached, err)
	}
	if a.ReplyTo == "" {
		own.Message, own.Asker = 0, "" // those of the last message there
	}
	if err := t.moves.load(ctx); err != nil {
		return nil, err
	}
	return newSink(t, own), nil
}

// Check implements [connectors.Checker].
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
	found.Text = fmt.Sprintf("@%s answers at https://t.me/%s", me.UserName, me.UserName)
	if hook != "" {
		found.Text += "; its webhook will be removed at startup; waiting messages are kept"
	}
	if !me.CanReadAllGroupMessages {
		found.Unheard = privacy(me)
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

// privacy describes what the bot can read in groups.
func privacy(me tgbotapi.User) string {
	if me.CanReadAllGroupMessages {
		return "it receives every message in its groups"
	}
	return "privacy mode is on: in groups where it is not an admin it only receives commands, mentions and replies to it. To " +
		"change that, send /setprivacy to @BotFather, then remove the bot from the group and add it again"
}

func (t *Telegram) me(ctx context.Context) (me tgbotapi.User, err error) {
	err = t.client.call(ctx, "getMe", nil, &me)
	return me, err
}

// webhook returns the bot's webhook URL; empty if none is set.
func (t *Telegram) webhook(ctx context.Context) (string, error) {
	var info struct {
		URL string `json:"url"`
	}
	err := t.client.call(ctx, "getWebhookInfo", nil, &info)
	return info.URL, err
}

// listCommands registers the commands for the clients' command menu.
func (t *Telegram) listCommands(ctx context.Context) error {
	type item struct {
		Command     chat.CommandName `json:"command"`
		Description string           `json:"description"`
	}
	var items []item
	for _, c := range command.Specs() {
		items = append(items, item{c.Name, c.Description})
	}
	list, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("list the commands: %w", err)
	}
	var done bool
	return t.client.call(ctx, "setMyCommands", tgbotapi.Params{"commands": string(list)}, &done)
}

func (t *Telegram) deleteWebhook(ctx context.Context) error {
	var done bool
	return t.client.call(ctx, "deleteWebhook", tgbotapi.Params{"drop_pending_updates": "false"}, &done)
}
