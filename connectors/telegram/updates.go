package telegram

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/chat"
	"parley/internal/lang"
)

// updates delivers updates to the gateway, for one Run. Its methods except prepare are called by the intake's
// goroutines, and use only h, moves, answers, opened and log, and self, which is complete when prepare has succeeded.
type updates struct {
	*Telegram
	self    self
	h       connectors.Handler
	answers *answers // answers to button presses

	mu     sync.Mutex
	opened map[int64]topic // the last topic of /new, by private chat; mu guards it
}

func newUpdates(t *Telegram, h connectors.Handler) *updates {
	return &updates{Telegram: t, self: self{account: t.account}, h: h}
}

// prepare looks up the bot's account, once. Only what delivering updates needs is an error: a missing command menu is not.
func (p *updates) prepare(ctx context.Context) error {
	if p.self.username != "" {
		return nil
	}
	me, err := p.me(ctx)
	if err != nil {
		return advise(err)
	}
	if err := p.moves.load(ctx); err != nil {
		return err
	}
	if err := p.introduce(ctx); err != nil {
		p.log.Warn("can't set the command menu or the profile at Telegram; the commands still work", "err", err)
	}
	p.self.username, p.self.topics = me.UserName, me.Topics && me.UserTopics
	if hidden := privacy(me.User); !me.CanReadAllGroupMessages {
		p.self.hidden = strings.ToUpper(hidden[:1]) + hidden[1:] + "."
	}
	p.log.Info("Telegram is connected", "bot", "https://t.me/"+me.UserName, "groups", privacy(me.User))
	return nil
}

// allowed returns allowed_updates. It is always sent, because otherwise the server keeps an older setting. Some kinds,
// such as reactions and members, are sent only when they are named.
func (p *updates) allowed() string {
	kinds := []string{}
	for _, h := range p.handlers() {
		kinds = append(kinds, strconv.Quote(h.kind))
	}
	return "[" + strings.Join(kinds, ",") + "]"
}

// handler takes updates of one kind. On an error the update is delivered again; nil confirms it. Its time is bounded by
// the context.
type handler struct {
	kind   string
	handle func(ctx context.Context, u update) error
}

// handlers returns the handlers of all requested kinds of updates.
func (p *updates) handlers() []handler {
	all := []handler{
		{"message", func(ctx context.Context, u update) error { return p.message(ctx, u.Message, u.newer.Message) }},
		{"channel_post", func(ctx context.Context, u update) error { return p.message(ctx, u.ChannelPost, u.newer.ChannelPost) }},
		{"edited_message", p.edited},
		{"message_reaction", p.reacted},
		{"my_chat_member", p.member},
		{"chat_member", p.others},
		{"callback_query", p.pressed},
		{"business_connection", p.connected},
	}
	if p.config.Streaming == StreamDrafts {
		all = append(all, handler{"stopped_message_generation", p.stopped})
	}
	return all
}

// connected tells the owner of a business account that the bot doesn't answer for it. Messages of such accounts are not requested, and a
// failure is only logged.
func (p *updates) connected(_ context.Context, u update) error {
	if c := u.newer.Business; c != nil && c.Enabled && c.Chat != 0 {
		text := lang.In(languageOf(c.User)).Say("turn.business")
		params := tgbotapi.Params{"chat_id": strconv.FormatInt(c.Chat, 10), "text": text}
		p.answers.add(c.Chat, pressAnswer{method: "sendMessage", params: params, to: address{Chat: c.Chat, Kind: private}})
	}
	return nil
}

// businessConnection is BusinessConnection (Bot API 7.2): the bot was added to a business account, or removed.
type businessConnection struct {
	User    *tgbotapi.User `json:"user"`
	Chat    int64          `json:"user_chat_id"`
	Enabled bool           `json:"is_enabled"`
}

// message delivers a message or a service message. A move of a group is stored before anything that is said under the
// new id is delivered: the room of a message is named after the first id.
func (p *updates) message(ctx context.Context, m *tgbotapi.Message, newer *newerMessage) (err error) {
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
	if err := p.openTopic(ctx, m, newer); err != nil {
		return err
	}
	p.drafts.remove(draftPlace{m.Chat.ID, topicOf(m, newer)})
	for _, in := range p.self.served(m, p.moves.first) {
		if err := p.hand(ctx, in, "a notice of", m.Chat.ID); err != nil {
			return err
		}
	}
	in := p.self.inbound(m, newer, p.moves.first)
	if e, ok := in.(chat.Message); ok && len(e.Address.Response) > 0 {
		return p.whispered(ctx, m, e)
	}
	return p.hand(ctx, in, fmt.Sprintf("message %d of", m.MessageID), m.Chat.ID)
}

// edited delivers a message's new content. The core decides whether the text has changed and whether that matters.
func (p *updates) edited(ctx context.Context, u update) error {
	if u.EditedMessage.Location != nil {
		return nil // a live location is edited all the time without a new question
	}
	m, ok := p.self.inbound(u.EditedMessage, u.newer.Edited, p.moves.first).(chat.Message)
	if !ok {
		return nil
	}
	return p.hand(ctx, chat.Edited{Message: m}, fmt.Sprintf("an edit of message %d of", u.EditedMessage.MessageID), u.EditedMessage.Chat.ID)
}
