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
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
	"parley/internal/rest"
)

// chooseTime limits how long storing a choice may take, because the button spins until the press is answered.
const chooseTime = 5 * time.Second

// keyboard returns one button per option, one per row because labels can be long. A button's data is the question's
// random id and the option's index, which is far below the limit of 64 bytes. The id can't be guessed, and is valid in
// every process. Options that approve something are green, and the one that refuses it is red. After the choice, only
// the chosen option is left, disabled. A question that wants only words has their label, disabled. With reply, the client
// opens the field for a reply to the message; that must be set when the message is created (Bot API 10.3).
func keyboard(o answer.Choices, reply bool) string {
	type button struct {
		Text     string    `json:"text"`
		Data     string    `json:"callback_data,omitempty"`
		Style    string    `json:"style,omitempty"`
		Disabled *struct{} `json:"disabled,omitempty"`
	}
	rows := [][]button{}
	for i, option := range o.Options {
		b := button{Text: option, Data: o.ID + ":" + strconv.Itoa(i)}
		switch {
		case o.Refuses(i):
			b.Style = "danger"
		case o.Approval:
			b.Style = "success"
		case o.Chosen > 0:
			b.Style = "primary"
		}
		switch o.Chosen {
		case 0:
			rows = append(rows, []button{b})
		case i + 1:
			b.Data, b.Disabled = "", &struct{}{}
			rows = append(rows, []button{b})
		}
	}
	if len(o.Options) == 0 && o.Other != "" {
		rows = append(rows, []button{{Text: o.Other, Disabled: &struct{}{}}})
	}
	markup := map[string]any{"inline_keyboard": rows}
	if reply {
		markup["force_reply"] = true
	}
	raw, err := json.Marshal(markup)
	if err != nil {
		panic(err) // only strings, which always marshal
	}
	return string(raw)
}

// shownCode matches a code for pairing, for linking accounts or for the operator's page, with the command that it belongs to.
var shownCode = regexp.MustCompile(`(?:/link )?\b[A-Z2-9]{4}(?:-[A-Z2-9]{4}){1,2}\b`)

// copyButton returns a button that copies the code in text; "" if there is none.
func copyButton(text string) string {
	code := ""
	if strings.Contains(text, "-") { // every edit of an answer comes by, and the expression tries each character
		code = shownCode.FindString(text)
	}
	if code == "" {
		return ""
	}
	return `{"inline_keyboard":[[{"text":"📋 ` + code + `","copy_text":{"text":"` + code + `"}}]]}` // letters and digits
}

// choice converts a button press. The user comes from Telegram, not from the button's data. ok is false if the button
// is not one of ours, or its message is too old to be known.
func (s self) choice(q *tgbotapi.CallbackQuery, newer *newerMessage, first func(int64) int64) (c chat.Choice, ok bool) {
	id, option, _ := strings.Cut(q.Data, ":")
	n, err := strconv.Atoi(option)
	if q.From == nil || q.From.IsBot || q.Message == nil || q.Message.Chat == nil || err != nil {
		return chat.Choice{}, false
	}
	return chat.Choice{
		Question: id, Option: n, Room: s.room(first(q.Message.Chat.ID), topicOf(q.Message, newer)), Author: entity(q.From.ID),
		Name: fullName(q.From.FirstName, q.From.LastName, q.From.UserName),
	}, true
}

// pressed passes a press to the gateway before it confirms the update, and always queues an answer, because otherwise
// the button keeps spinning. A press that can't be stored in time is not redelivered: the user is told and can press
// again, and a press that takes effect minutes later would surprise.
func (p *updates) pressed(ctx context.Context, u update) error {
	told := lang.In(languageOf(u.CallbackQuery.From)).Say("turn.not_done")
	if c, ok := p.self.choice(u.CallbackQuery, &u.newer.Pressed.Message, p.moves.first); ok {
		limited, cancel := context.WithTimeout(ctx, chooseTime)
		acc, err := p.h(limited, c)
		cancel()
		if err == nil {
			told = acc.Refused
		} else {
			p.log.Warn("a choice could not be stored and was not accepted", "err", err)
		}
	}
	params := tgbotapi.Params{"callback_query_id": u.CallbackQuery.ID}
	if told != "" {
		params["text"], params["show_alert"] = told, "true"
	}
	p.answers.add(u.chat(), pressAnswer{method: "answerCallbackQuery", params: params})
	return nil
}

// tellPress answers a press. pause is the server's rate limit on such requests, if any. A failure is only logged: the
// choice is stored.
func (p *updates) tellPress(ctx context.Context, a pressAnswer) (pause time.Duration) {
	var told json.RawMessage
	err := p.paced(ctx, a.to, a.method, a.params, &told)
	if err != nil {
		p.log.Debug("can't answer a button press", "err", fmt.Errorf("answer: %w", err))
	}
	var r *refusal
	if errors.As(err, &r) {
		return r.after
	}
	return 0
}

const (
	answerWorkers = 8
	mostAnswers   = 1000             // queued at most; further ones are dropped
	answerLife    = 30 * time.Second // the client stops waiting for an answer after that
)

// pressAnswer is the request that answers a callback query (a button press), or an ephemeral message. Without an answer,
// the button keeps spinning.
type pressAnswer struct {
	method string
	params tgbotapi.Params
	to     address // of a message, which uses the budget of its chat; empty for a callback query
	due    time.Time
}

// answers sends the answers to button presses outside the poll loop, which must not wait for them: a bounded number at
// a time, in order within a chat, with chats taking turns. An answer that is not sent within [answerLife] is dropped.
// That costs only a button that spins for some seconds, because the choice itself has already been stored.
type answers struct {
	ctx  context.Context // the requests' context: when it is done, queued answers are dropped
	send func(ctx context.Context, a pressAnswer) (pause time.Duration)
	log  *slog.Logger
	jobs *connectors.Jobs[int64] // by chat

	mu    sync.Mutex
	until time.Time // the end of the server's rate limit
}

func newAnswers(ctx context.Context, send func(context.Context, pressAnswer) time.Duration, log *slog.Logger) *answers {
	return &answers{ctx: ctx, send: send, log: log, jobs: connectors.NewJobs[int64](answerWorkers, mostAnswers)}
}

// add queues an answer. It does not block.
func (q *answers) add(chat int64, a pressAnswer) {
	a.due = time.Now().Add(answerLife)
	if !q.jobs.Add(chat, func() { q.answer(chat, a) }) {
		q.log.Debug("too many button presses to answer; one is skipped", "chat", chat)
	}
}

// answer sends a unless it has expired, after a rate limit that is in force.
func (q *answers) answer(chat int64, a pressAnswer) {
	if q.hold(a); q.ctx.Err() == nil && time.Now().Before(a.due) {
		q.close(q.send(q.ctx, a))
	} else {
		q.log.Debug("a button press was not answered in time", "chat", chat)
	}
}

// hold waits until the rate limit ends or a expires, whichever comes first.
func (q *answers) hold(a pressAnswer) {
	q.mu.Lock()
	until := q.until
	q.mu.Unlock()
	if wait := min(time.Until(until), time.Until(a.due)); wait > 0 {
		_ = rest.For(q.ctx, wait)
	}
}

// close pauses sending for the given time, for all chats: the limit is the bot's. A later end stays.
func (q *answers) close(pause time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if until := time.Now().Add(pause); until.After(q.until) {
		q.until = until
	}
}

// wait returns when all answers are sent or dropped. The caller adds no more.
func (q *answers) wait() { q.jobs.Wait() }
