package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/chat"
)

const (
	pollTime  = 50 * time.Second // the longest that the server allows (TR-17)
	pollGrace = 15 * time.Second // after which a poll is dead
	callTime  = 15 * time.Second // of every other request
	byeTime   = 3 * time.Second
	leastWait = time.Second
	mostWait  = time.Minute
	hasty     = time.Second            // a poll that brings nothing should take longer than that
	leastIdle = 200 * time.Millisecond // after one that does not, and more each time
	mostIdle  = 2 * time.Second
)

// poller takes updates from the server, for one Run. Only its goroutine uses it.
type poller struct {
	*Telegram
	self    self
	intake  *intake
	answers *answers      // of presses
	offset  int           // confirms all updates before it; 0 when there is nothing to confirm
	fails   int           // in a row
	idle    time.Duration // the pause after the last poll that brought nothing at once; 0 if none did lately
	begun   bool
}

func newPoller(t *Telegram, h connectors.Handler) *poller {
	p := &poller{Telegram: t, self: self{account: t.account}}
	p.intake = newIntake(h, t.log)
	return p
}

// run polls until ctx is done, or the token is refused.
func (p *poller) run(ctx context.Context) error {
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.answers = newAnswers(requests, p.tellPress, p.log)
	defer func() { // answers to presses and the last confirmation have the same time
		defer cancel()
		late := time.AfterFunc(byeTime, cancel)
		defer late.Stop()
		p.bye(ctx)
		p.answers.wait()
	}()
	for ctx.Err() == nil {
		err := p.turn(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errRevoked):
			return err
		case err == nil:
			p.fails = 0
			continue
		}
		p.fails++
		wait := p.pause(err)
		p.report(err, wait)
		sleep(ctx, wait)
	}
	return nil
}

// turn makes one step: the greeting, then polls.
func (p *poller) turn(ctx context.Context) error {
	if !p.begun {
		return p.begin(ctx)
	}
	asked := time.Now()
	batch, err := p.poll(ctx)
	if err != nil {
		return p.freed(ctx, err)
	}
	if p.rest(ctx, time.Since(asked), p.news(batch)); len(batch) == 0 {
		p.offset = 0 // everything before it is confirmed; numbers may now start again anywhere (TR-18)
		return nil
	}
	p.offset, err = p.intake.take(ctx, batch, p.handlers())
	return err
}

// news reports whether batch holds anything that the last offset did not confirm.
func (p *poller) news(batch []json.RawMessage) bool {
	return slices.ContainsFunc(batch, func(raw json.RawMessage) bool {
		id, ok := updateID(raw)
		return ok && id >= p.offset
	})
}

// rest waits after a poll that took so long. A server that does not wait for updates would otherwise be asked without a
// pause, thousands of times a second: pauses grow while polls bring nothing at once.
func (p *poller) rest(ctx context.Context, took time.Duration, news bool) {
	switch {
	case news || took >= pollTime:
		p.idle = 0
	case took < hasty:
		p.idle = min(max(2*p.idle, leastIdle), mostIdle)
		sleep(ctx, p.idle)
	}
}

// begin asks who we are, and makes the server keep updates for us.
func (p *poller) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	me, err := p.me(ctx)
	if err != nil {
		return advise(err)
	}
	hook, err := p.webhook(ctx)
	if err != nil {
		return err
	}
	if hook != "" {
		p.log.Warn("the bot had a webhook; it was removed, because the gateway polls")
		if err := p.deleteWebhook(ctx); err != nil {
			return err
		}
	}
	if err := p.moves.load(ctx); err != nil {
		return err
	}
	if err := p.listCommands(ctx); err != nil {
		p.log.Warn("can't register the commands with Telegram; they still work", "err", err)
	}
	p.self.username = me.UserName
	p.begun = true
	p.log.Info("Telegram is connected", "bot", "https://t.me/"+me.UserName, "groups", privacy(me))
	return nil
}

// freed removes a webhook that stops us polling.
func (p *poller) freed(ctx context.Context, err error) error {
	var r *refusal
	if !errors.As(err, &r) || r.code != 409 || !r.says("webhook") {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return errors.Join(err, p.deleteWebhook(ctx))
}

func (p *poller) poll(ctx context.Context) (batch []json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollTime+pollGrace)
	defer cancel()
	err = p.client.call(ctx, "getUpdates", tgbotapi.Params{
		"offset": strconv.Itoa(p.offset), "timeout": strconv.Itoa(int(pollTime / time.Second)), "allowed_updates": p.allowed(),
	}, &batch)
	return batch, err
}

// allowed is always sent: without it the server keeps an older setting (TR-22).
func (p *poller) allowed() string {
	kinds := []string{}
	for _, h := range p.handlers() {
		kinds = append(kinds, strconv.Quote(h.kind))
	}
	return "[" + strings.Join(kinds, ",") + "]"
}

// bye confirms what was handed over, so that a new start does not see it again.
func (p *poller) bye(ctx context.Context) {
	if p.offset == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), byeTime)
	defer cancel()
	var rest []json.RawMessage
	err := p.client.call(ctx, "getUpdates", tgbotapi.Params{
		"offset": strconv.Itoa(p.offset), "limit": "1", "timeout": "0", "allowed_updates": p.allowed(),
	}, &rest)
	if err != nil {
		p.log.Debug("can't confirm the last updates; they will arrive again", "err", err)
	}
}

// pause is how long to wait after err: what the server says, or longer each time.
func (p *poller) pause(err error) time.Duration {
	var r *refusal
	if errors.As(err, &r) && r.after > 0 {
		return r.after
	}
	most := mostWait
	if errors.Is(err, errKept) {
		most = keptWait
	}
	wait := min(leastWait<<min(p.fails-1, 10), most)
	return wait/2 + rand.N(wait/2+1)
}

// report tells what stands in the way. It comes seldom: the pauses grow.
func (p *poller) report(err error, wait time.Duration) {
	log := p.log.With("wait", wait, "err", err)
	var r *refusal
	switch {
	case errors.Is(err, errKept):
		log.Error("messages can't be stored; Telegram keeps them and they will be retried")
	case !errors.As(err, &r):
		log.Warn("can't reach Telegram")
	case r.code == 409 && r.says("webhook"):
		log.Warn("a webhook was set for this bot; it was removed, because the gateway polls")
	case r.code == 409 && p.fails == 1: // it also happens after a network cut
		log.Warn("another process fetched this bot's messages")
	case r.code == 409: // TR-19
		log.Error("another process is fetching this bot's messages, so none arrive here. " +
			"Stop the other process, or get a new token from @BotFather (/revoke) and use it only here")
	default:
		log.Warn("Telegram refused a request")
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// handler takes updates of one kind. An error means that the update is to come again.
type handler struct {
	kind   string
	handle func(ctx context.Context, u update) error
}

// handlers is the table of all kinds of updates that are asked for.
func (p *poller) handlers() []handler {
	return []handler{
		{"message", func(ctx context.Context, u update) error { return p.message(ctx, u.Message, u.newer.Message) }},
		{"channel_post", func(ctx context.Context, u update) error { return p.message(ctx, u.ChannelPost, u.newer.ChannelPost) }},
		{"edited_message", p.edited},
		{"message_reaction", p.reacted},
		{"my_chat_member", p.member},
		{"chat_member", p.others},
		{"callback_query", p.pressed},
	}
}

func (p *poller) message(ctx context.Context, m *tgbotapi.Message, newer *newerMessage) (err error) {
	switch {
	case m.Chat == nil:
		return nil
	case m.MigrateToChatID != 0:
		err = p.moves.add(ctx, m.Chat.ID, m.MigrateToChatID)
	case m.MigrateFromChatID != 0:
		err = p.moves.add(ctx, m.MigrateFromChatID, m.Chat.ID)
	}
	if err != nil {
		return err
	}
	for _, in := range p.self.served(m, p.moves.first) {
		if err := p.hand(ctx, in, "a notice of", m.Chat.ID); err != nil {
			return err
		}
	}
	in := p.self.inbound(m, newer, p.moves.first)
	if in == nil {
		return nil
	}
	if _, err := p.intake.h(ctx, in); err != nil {
		return fmt.Errorf("hand over message %d of chat %d: %w", m.MessageID, m.Chat.ID, err)
	}
	return nil
}

// edited hands over what a message says now; whether that is another text, and matters, is not decided here (IN-12).
func (p *poller) edited(ctx context.Context, u update) error {
	if u.EditedMessage.Location != nil {
		return nil // a live location moves all the time: that is no new question
	}
	m, ok := p.self.inbound(u.EditedMessage, u.newer.Edited, p.moves.first).(chat.Message)
	if !ok {
		return nil
	}
	if _, err := p.intake.h(ctx, chat.Edited{Memory: m.Memory}); err != nil {
		return fmt.Errorf("hand over an edit of %s: %w", m.ID, err)
	}
	return nil
}
