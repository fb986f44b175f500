package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core/answer"
	"parley/core/chat"
	"parley/progressive"
)

// typingTime is how long clients show the typing indicator.
const typingTime = 5 * time.Second

// sink posts one answer to one conversation. Telegram has no nonces, so after a create of unknown outcome there is no
// way to find out whether the message exists. Therefore only a final message is sent again, once, with a mark, when a probe
// shows that the platform works again. Requests
// come one after the other; Render and Scopes can be called during a typing request, which comes from another
// goroutine.
type sink struct {
	telegram *Telegram
	to       address
	alone    bool     // the message we would reply to is gone
	whisper  *whisper // nil if everyone sees the answer
	drafting bool     // growing text is shown as drafts
	topic    deletedTopic
	prose    *progressive.MarkdownMessages
	rich     *progressive.MarkdownMessages // instead, unless the chat refuses it; nil if the format is HTML
	refusals int                           // of rich messages in a row, for unknown reasons
	ended    bool                          // the last rendered answer is complete
}

func newSink(t *Telegram, to address) *sink {
	reply := to.Kind != private && to.Message != 0
	s := &sink{telegram: t, to: to, drafting: t.draftsIn(to), prose: t.config.Messages(display(reply, to.Asker))}
	if t.config.Format == FormatRich {
		s.rich = t.config.Messages(richDisplay(reply))
	}
	return s
}

var (
	_ progressive.Sink     = (*sink)(nil)
	_ progressive.Editor   = (*sink)(nil)
	_ progressive.Deleter  = (*sink)(nil)
	_ progressive.Typer    = (*sink)(nil)
	_ progressive.Resender = (*sink)(nil)
	_ progressive.Prober   = (*sink)(nil)
	_ progressive.Guesser  = (*sink)(nil)
	_ progressive.Drafter  = (*sink)(nil)
)

// The kinds of scopes.
const (
	privateScope = "telegram.private" // all requests in one private chat
	groupScope   = "telegram.group"   // all requests in one group with all its topics, or in a channel
	slowScope    = "telegram.slow"    // new messages in one supergroup, which can be in slow mode
	botScope     = "telegram.bot"     // all requests
)

// Budgets implements [connectors.Settings]. A chat may burst, because answers are usually short. Stream edits leave a
// fifth of its requests to final texts, commands and first messages, and are spread evenly over the rest. Telegram's
// FAQ names about one message a second in a chat, 20 a minute in a group and 30 a second in total.
func (c *Config) Budgets() map[string]progressive.Budget {
	l := c.Limits
	return map[string]progressive.Budget{
		privateScope: {N: 5, Per: 5 * l.PrivateEdits, Reserve: 1, Pace: l.PrivateEdits},
		groupScope:   {N: l.GroupPerMinute, Per: time.Minute, Reserve: l.GroupPerMinute / 5, Pace: l.GroupEdits},
		slowScope:    {}, // only a refusal closes it
		botScope:     {N: l.PerSecond, Per: time.Second, Pace: time.Second / time.Duration(max(l.PerSecond, 1))},
	}
}

// Scopes implements [progressive.Sink]. Each request counts for the chat and for the bot. A group that has moved keeps
// one scope.
func (s *sink) Scopes(op progressive.Op) []progressive.Scope {
	kind := groupScope
	if s.to.Kind == private {
		kind = privateScope
	}
	chat := s.telegram.moves.now(s.to.Chat)
	scopes := []progressive.Scope{scopeOf(kind, chat)}
	if op == progressive.Post && s.to.Kind == supergroup {
		scopes = append(scopes, scopeOf(slowScope, chat))
	}
	return append(scopes, scopeOf(botScope, int64(s.telegram.account)))
}

// paced makes a request that belongs to no answer, within callTime and the budgets of its chat, if it has one. It fails with
// [progressive.ErrNoPermit] if there is no permit in this time; other errors are those of the client.
func (t *Telegram) paced(ctx context.Context, to address, method string, params tgbotapi.Params, v any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if t.enter == nil || to.Chat == 0 {
		return t.client.call(ctx, method, params, v)
	}
	s := newSink(t, to)
	leave, err := t.enter(ctx, progressive.Ticket{Scopes: s.Scopes(progressive.Edit), Priority: progressive.PriorityReply})
	if err != nil {
		return fmt.Errorf("%w: %w", progressive.ErrNoPermit, err)
	}
	err = t.client.call(ctx, method, params, v)
	leave(s.judge(progressive.Typing, to.Chat, err))
	return err
}

func scopeOf(kind string, id int64) progressive.Scope {
	return progressive.Scope(fmt.Sprintf("%s/%d", kind, id))
}

// Render implements [progressive.Sink].
func (s *sink) Render(v answer.View, refused ...string) []progressive.Part {
	if parts := s.whisper.replaced(v, s.prose.Say); parts != nil {
		return parts
	}
	s.ended = v.Outcome.Done()
	if s.rich != nil && !s.telegram.unrich.has(s.to.Chat) {
		return s.rich.Parts(v, refused...)
	}
	return s.prose.Parts(v, refused...)
}

// HasButtons implements [progressive.Buttoner].
func (s *sink) HasButtons() bool { return true }

// Pings implements [progressive.Pinger]. An ephemeral message is one of a client's own, which notifies no one.
func (s *sink) Pings() (notifies, moves bool) { return s.whisper == nil, true }

// Resends implements [progressive.Resender]. The owner decides which is worse: a message twice, or none.
func (s *sink) Resends() bool { return s.telegram.config.Ambiguous != AmbiguousSkip }

// Marked implements [progressive.Resender]. The length limits of a rendered message leave room for the mark.
func (s *sink) Marked(p progressive.Part) progressive.Part {
	marked := progressive.WithMark(p, s.prose.Say)
	if isRich(p) {
		marked.Text = p.Text + "\n\n" + richLines([]string{s.prose.Say("message.repeated")})
	}
	return marked
}

// Post implements [progressive.Sink]. The nonce is not used. It returns the message's id together with its chat.
func (s *sink) Post(ctx context.Context, p progressive.Part, _ string) (string, error) {
	chat := s.telegram.moves.now(s.to.Chat)
	id, err := s.send(ctx, chat, p)
	// The group has moved. The refusal is definite, so sending again under the new id can't duplicate the message.
	if to := migrated(err); to != 0 {
		s.move(chat, to)
		chat = to
		id, err = s.send(ctx, chat, p)
	}
	if err = judgeFile(p, s.judgeText(progressive.Post, p, chat, err)); err != nil {
		return "", s.slowMode(ctx, chat, err)
	}
	s.topic.posted(id.message)
	s.telegram.drafts.remove(s.place())
	return id.id(), nil
}

// slowMode returns err, and if it follows from slow mode, for new messages alone: edits in the group continue. Telegram tells of slow
// mode as of other limits, so this asks for the chat's delay.
func (s *sink) slowMode(ctx context.Context, chat int64, err error) error {
	var held progressive.RetryAfter
	if s.to.Kind != supergroup || !errors.As(err, &held) {
		return err
	}
	var about struct {
		Delay int64 `json:"slow_mode_delay"` // seconds
	}
	params := tgbotapi.Params{"chat_id": strconv.FormatInt(chat, 10)}
	if s.telegram.client.call(ctx, "getChat", params, &about) == nil && held.After <= time.Duration(about.Delay)*time.Second {
		held.Scope = scopeOf(slowScope, chat)
		return held
	}
	return err
}

// move stores the chat's new id. If that fails, the next request gets the same refusal and tries again. It does not end
// with the caller's context, because the move is announced only this once.
func (s *sink) move(chat, to int64) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	if err := s.telegram.moves.add(ctx, chat, to); err != nil {
		s.telegram.log.Warn("a group has a new id that can't be saved", "err", err)
	}
}

// send makes the request of Post, to the given chat.
func (s *sink) send(ctx context.Context, chat int64, p progressive.Part) (posted, error) {
	method, params, files := "sendMessage", s.content(chat, p, true), []tgbotapi.RequestFile(nil)
	if isRich(p) {
		method = "sendRichMessage"
	}
	if p.File != nil {
		c := carry(*p.File)
		method, params, files = c.method(), c.caption(tgbotapi.Params{"chat_id": params["chat_id"]}), c.files(c.kind)
	}
	s.addTopic(params)
	// Numbers of messages are not kept when a group moves, so there is nothing to reply to then.
	if p.ReplyTo && !s.alone && chat == s.to.Chat {
		params["reply_parameters"] = fmt.Sprintf(`{"message_id":%d,"allow_sending_without_reply":true}`, s.to.Message)
	}
	if at, err := parsePosted(p.Below); err == nil && at.chat == chat {
		params["reply_parameters"] = fmt.Sprintf(`{"message_id":%d,"allow_sending_without_reply":true}`, at.message)
	}
	params.AddBool("disable_notification", p.Silent)
	s.whisper.address(params)
	var sent struct {
		ID        int `json:"message_id"`
		Ephemeral int `json:"ephemeral_message_id"`
	}
	err := s.telegram.client.call(ctx, method, params, &sent, files...)
	if sent.Ephemeral != 0 && s.whisper != nil {
		s.whisper.posted = true
		return posted{chat, sent.Ephemeral, s.whisper.User}, err
	}
	return posted{chat: chat, message: sent.ID}, err
}

// content returns a message's parameters. Link previews are disabled in every request, because an edit without the
// option enables them again. A new question that permits words opens the field for a reply, except in groups: it would open for all members.
func (s *sink) content(chat int64, p progressive.Part, created bool) tgbotapi.Params {
	params := words(chat, p)
	if !isRich(p) { // that has none
		params["link_preview_options"] = `{"is_disabled":true}`
	}
	// Without a keyboard, an edit removes the buttons.
	if o := p.Offer; o != nil && (o.Chosen == 0 && len(o.Options) > 0 || !s.telegram.older.Load()) {
		params["reply_markup"] = keyboard(*o, created && o.Other != "" && o.Chosen == 0 && s.to.Kind == private)
	} else if p.Offer == nil {
		params.AddNonEmpty("reply_markup", copyButton(p.Plain))
	}
	return params
}

// words returns the parameters with the text of a message or a draft.
func words(chat int64, p progressive.Part) tgbotapi.Params {
	params := tgbotapi.Params{"chat_id": strconv.FormatInt(chat, 10)}
	switch {
	case isRich(p):
		params["rich_message"] = richMessage(p)
	case p.Text != "":
		params["text"], params["parse_mode"] = p.Text, tgbotapi.ModeHTML
	default:
		params["text"] = p.Plain
	}
	return params
}

// addTopic addresses the conversation's topic; without it, a message goes to a forum's General.
func (s *sink) addTopic(params tgbotapi.Params) {
	if !s.topic.known {
		params.AddNonZero("message_thread_id", s.to.Topic)
	}
}

// Edit implements [progressive.Editor]. An id that can't be read is that of no message: [progressive.ErrGone].
func (s *sink) Edit(ctx context.Context, id string, p progressive.Part) error {
	m, err := parsePosted(id)
	if err != nil {
		return fmt.Errorf("%w: %w", progressive.ErrGone, err)
	}
	method, params, files := "editMessageText", s.content(m.chat, p, false), []tgbotapi.RequestFile(nil)
	if p.File != nil {
		c := carry(*p.File)
		method, params, files = "editMessageMedia", tgbotapi.Params{"media": c.media()}, c.files(attached)
	}
	method = m.request(method, params)
	var edited json.RawMessage
	err = s.judgeText(progressive.Edit, p, m.chat, s.telegram.client.call(ctx, method, params, &edited, files...))
	if errors.Is(err, progressive.ErrGone) && s.goneWithTopic(ctx, m.message) {
		err = fmt.Errorf("%w: its topic was deleted: %v", progressive.ErrStale, err)
	}
	return judgeFile(p, err)
}

// Delete implements [progressive.Deleter]. A message that can't be deleted any more (in groups after 48 hours) is
// [progressive.ErrGone].
func (s *sink) Delete(ctx context.Context, id string) error {
	m, err := parsePosted(id)
	if err != nil {
		return fmt.Errorf("%w: %w", progressive.ErrGone, err)
	}
	params := tgbotapi.Params{}
	method := m.request("deleteMessage", params)
	var done bool
	return s.judge(progressive.Delete, m.chat, s.telegram.client.call(ctx, method, params, &done))
}

// Guesses implements [progressive.Guesser]. In a private chat only the bot and one user write, and messages are numbered one
// after the other. Elsewhere the numbers that follow belong to anyone.
func (s *sink) Guesses() (ids []string, room chat.RoomID) {
	if s.to.Kind != private || s.to.Message == 0 {
		return nil, ""
	}
	for n := range 3 {
		ids = append(ids, messageID(s.to.Chat, s.to.Message+1+n))
	}
	return ids, s.telegram.account.room(s.to.Chat, 0)
}

// Probe implements [progressive.Prober].
func (s *sink) Probe(ctx context.Context) error {
	if s.to.Kind != channel {
		return s.showTyping(ctx)
	}
	chat := s.telegram.moves.now(s.to.Chat)
	var about json.RawMessage
	return s.judge(progressive.Typing, chat, s.telegram.client.call(ctx, "getChat", tgbotapi.Params{"chat_id": strconv.FormatInt(chat, 10)}, &about))
}

// Typing implements [progressive.Typer]. Channels have no typing indicator, and that of a group is for everyone to see; 0
// means that it need not be renewed. Where there are drafts, the indicator is an empty one: Telegram shows it as "Thinking…",
// with the Stop button.
func (s *sink) Typing(ctx context.Context) (time.Duration, error) {
	switch {
	case s.to.Kind == channel || s.whisper != nil:
		return 0, nil
	case s.telegram.draftsIn(s.to):
		return draftTime * 2 / 3, s.sendDraft(ctx, progressive.Part{})
	}
	if err := s.showTyping(ctx); err != nil {
		return 0, err
	}
	return typingTime, nil
}

// showTyping makes the request of Typing.
func (s *sink) showTyping(ctx context.Context) error {
	chat := s.telegram.moves.now(s.to.Chat)
	params := tgbotapi.Params{"chat_id": strconv.FormatInt(chat, 10), "action": tgbotapi.ChatTyping}
	s.addTopic(params)
	var done bool
	return s.judge(progressive.Typing, chat, s.telegram.client.call(ctx, "sendChatAction", params, &done))
}
