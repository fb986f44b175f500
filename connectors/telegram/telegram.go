// Package telegram joins Telegram to the gateway: what is written to a bot comes in by long polling, and answers are
// messages that grow by edits.
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
	"sync"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core"
	"parley/core/chat"
	"parley/progressive"
)

// Options is what a [Telegram] is made of.
type Options struct {
	Token  string
	APIURL string // of a Bot API server; empty for Telegram's own
	// Dial opens connections. Nil means the system's way, with the environment's proxy.
	Dial connectors.Dialer
	Memo connectors.StateStore // keeps which groups got new ids; nil for as long as the process lives
	Log  *slog.Logger          // nil for none
	// Progress is how much people see of calls; empty is [progressive.Compact].
	Progress progressive.Progress
	LongCode progressive.LongCode // empty is [progressive.InMessages]
	// MaxMessages is how many messages an answer has at most; the rest goes into a file. 0: as many as it takes.
	MaxMessages int
	// SkipAmbiguous leaves a last word of unknown fate as it is. By default it is sent once more, marked.
	SkipAmbiguous bool
}

// Telegram is one bot. The server remembers which updates were confirmed.
type Telegram struct {
	client   *client
	account  account
	wrong    error // of the settings
	moves    *moves
	refused  refusals
	log      *slog.Logger
	progress progressive.Progress
	code     progressive.LongCode
	most     int  // messages of an answer
	skip     bool // a last word of unknown fate is not sent again
}

var (
	_ connectors.Connector = (*Telegram)(nil)
	_ connectors.Poster    = (*Telegram)(nil)
	_ connectors.Checker   = (*Telegram)(nil)
)

// New returns a bot that has not talked to anybody yet. A token that can't be one is an error of Run and Check.
func New(o Options) *Telegram {
	t := &Telegram{client: newClient(o.Token, o.APIURL, o.Dial), log: o.Log, progress: o.Progress, code: o.LongCode, most: o.MaxMessages, skip: o.SkipAmbiguous}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	t.log = t.log.With("connector", Name)
	t.account, t.wrong = accountOf(o.Token)
	t.moves = newMoves(t.account, o.Memo)
	return t
}

var tokenForm = regexp.MustCompile(`^[0-9]{1,19}:[A-Za-z0-9_-]{20,}$`)

// accountOf reads the bot's number from its token, which begins with it.
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
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-t.client.revoked: // any request may hear it
			cancel(errRevoked)
		case <-ctx.Done():
		}
	})
	err := newPoller(t, h).run(ctx)
	cancel(nil)
	watch.Wait()
	if errors.Is(err, errRevoked) || errors.Is(context.Cause(ctx), errRevoked) {
		return connectors.Fatal{Err: errRevoked}
	}
	return err
}

// Close lets go of connections that nobody uses.
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
		own.Message, own.Asker = 0, "" // what was written there last
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

// advise adds the next step.
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

// privacy says what of a group the bot gets to see (TR-27).
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

// webhook is where the server sends updates instead of keeping them for us; empty if nowhere.
func (t *Telegram) webhook(ctx context.Context) (string, error) {
	var info struct {
		URL string `json:"url"`
	}
	err := t.client.call(ctx, "getWebhookInfo", nil, &info)
	return info.URL, err
}

// listCommands makes clients offer the commands where people write.
func (t *Telegram) listCommands(ctx context.Context) error {
	type item struct {
		Command     chat.CommandName `json:"command"`
		Description string           `json:"description"`
	}
	var items []item
	for _, c := range core.Commands() {
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
