package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
	"parley/progressive"
)

// whisper is the answer to an ephemeral message (Bot API 10.2): only the user who sent the message sees it. Within 15
// seconds it replies to the message, and later it is sent without a reply, which administrators can. If Telegram refuses
// both, the group reads one line without the answer: the command was for no one else to see.
//
// As JSON it is the content of [chat.Address.Response]. It is stored with runs, so its names must not change.
type whisper struct {
	User    int64 `json:"user"`
	Message int   `json:"message"` // the ephemeral message

	step   whisperStep
	posted bool // a message was sent
}

// whisperStep is the way of sending, from the first attempt to the last.
type whisperStep int

const (
	asReply whisperStep = iota
	unasked
	refused // nothing is sent to the user
)

// parseWhisper reads a stored whisper. It is nil for an answer that everyone sees.
func parseWhisper(own []byte) (*whisper, error) {
	if len(own) == 0 {
		return nil, nil
	}
	w := &whisper{}
	if err := json.Unmarshal(own, w); err != nil || w.User == 0 {
		return nil, fmt.Errorf("read the address of an ephemeral answer of user %d: %w", w.User, err)
	}
	return w, nil
}

// address adds the receiver to the parameters of a new message.
func (w *whisper) address(params tgbotapi.Params) {
	if w == nil || w.step == refused {
		return
	}
	params["ephemeral_message_parameters"] = fmt.Sprintf(`{"receiver_user_id":%d}`, w.User)
	delete(params, "reply_parameters")
	if w.step == asReply {
		params["reply_parameters"] = fmt.Sprintf(`{"ephemeral_message_id":%d}`, w.Message)
	}
}

// next changes to the next way of sending after a refusal, and reports whether there is one. The rest of an answer that
// has begun is not sent to the group.
func (w *whisper) next() bool {
	if w == nil || w.step == refused || w.posted && w.step == unasked {
		return false
	}
	w.step++
	return true
}

// replaced returns the answer for the group, if the user can't get it; otherwise nil.
func (w *whisper) replaced(v answer.View, say func(key string, pairs ...any) string) []progressive.Part {
	if w == nil || w.step != refused || v.Outcome.Withdrawn {
		return nil
	}
	return []progressive.Part{{Plain: say("message.late")}}
}

// posted names a message of the bot. Ephemeral messages have numbers of their own, for each chat.
type posted struct {
	chat    int64
	message int
	user    int64 // the receiver of an ephemeral message; 0 for other messages
}

func (p posted) id() string {
	if p.user != 0 {
		return fmt.Sprintf("%d/e%d/%d", p.chat, p.message, p.user)
	}
	return messageID(p.chat, p.message)
}

// parsePosted is the reverse of id.
func parsePosted(id string) (p posted, err error) {
	if at := strings.LastIndex(id, "/"); strings.Contains(id, "/e") {
		if p.user, err = strconv.ParseInt(id[at+1:], 10, 64); err != nil {
			return p, fmt.Errorf("message id %q: %w", id, err)
		}
		id = strings.Replace(id[:at], "/e", "/", 1)
	}
	p.chat, p.message, err = parseMessageID(id)
	return p, err
}

// request adds p to the parameters of a request, and returns the method for it. method is the one for ordinary messages.
func (p posted) request(method string, params tgbotapi.Params) string {
	params["chat_id"] = strconv.FormatInt(p.chat, 10)
	if p.user == 0 {
		params["message_id"] = strconv.Itoa(p.message)
		return method
	}
	params["receiver_user_id"], params["ephemeral_message_id"] = strconv.FormatInt(p.user, 10), strconv.Itoa(p.message)
	return strings.Replace(method, "Message", "EphemeralMessage", 1)
}

// whispered makes in the conversion of an ephemeral message: it is meant for the bot, and its answer for its author.
// The numbers of such messages are used again, so the id contains the time.
func (s self) whispered(in chat.Message, m *tgbotapi.Message, number int) chat.Message {
	in.ID = chat.MemoryID(fmt.Sprintf("%s/%d/%d/e%d-%d", Name, s.account, m.Chat.ID, number, m.Date))
	in.Addressed, in.InReplyTo, in.Address.ReplyTo = true, "", in.ID
	in.Address.Response, _ = json.Marshal(whisper{User: m.From.ID, Message: number}) // only numbers, which always marshal
	return in
}

// whispered delivers an ephemeral message, and tells its author at once why there will be no answer, if so.
func (p *updates) whispered(ctx context.Context, m *tgbotapi.Message, in chat.Message) error {
	voice := lang.In(languageOf(m.From))
	text := voice.Say("message.commands_only") // others must not read it in later answers
	if chat.IsCommand(in.Text) {
		acc, err := p.h(ctx, in)
		switch {
		case err != nil:
			return fmt.Errorf("hand over an ephemeral message of chat %d: %w", m.Chat.ID, err)
		case acc.Blocked:
			return nil
		}
		if text = acc.Refused; acc.Run == "" && text == "" {
			text = voice.Say("turn.done")
		}
	}
	if w, err := parseWhisper(in.Address.Response); text != "" && err == nil {
		params := tgbotapi.Params{"chat_id": strconv.FormatInt(m.Chat.ID, 10), "text": text}
		w.address(params)
		p.answers.add(m.Chat.ID, pressAnswer{method: "sendMessage", params: params, to: address{Chat: m.Chat.ID, Kind: m.Chat.Type}})
	}
	return nil
}
