package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core/chat"
	"parley/progressive"
)

// draftTime is how long the server shows a draft that nothing removes.
const draftTime = 30 * time.Second

// mostDrafts is the number of places with drafts above which those of ended answers are forgotten.
const mostDrafts = 1000

// draftPlace is where a draft is shown: any message there removes it.
type draftPlace struct {
	chat  int64
	topic int
}

// drafts are the places where this process shows drafts, and the chats that have none. With several processes, a message that another one
// receives is not noticed here: the draft appears again with its next text. The zero value is ready. It is safe for concurrent use.
type drafts struct {
	mu     sync.Mutex
	places map[draftPlace]shownDraft
	none   refusing
}

type shownDraft struct {
	removed chan struct{} // closed when a message appears there
	until   time.Time
}

// show notes that a draft is being sent, and returns the channel that is closed when a message removes it.
func (d *drafts) show(p draftPlace) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.places) >= mostDrafts {
		for place, s := range d.places {
			if time.Now().After(s.until) {
				delete(d.places, place)
			}
		}
	}
	if d.places == nil {
		d.places = map[draftPlace]shownDraft{}
	}
	s, ok := d.places[p]
	if !ok {
		s.removed = make(chan struct{})
	}
	s.until = time.Now().Add(draftTime)
	d.places[p] = s
	return s.removed
}

// remove notes a message in p.
func (d *drafts) remove(p draftPlace) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.places[p]; ok {
		close(s.removed)
		delete(d.places, p)
	}
}

// draftsIn reports whether growing answers are shown as drafts there. A draft is named after the question, so that any process
// finds the answer that the Stop button of a draft ends.
func (t *Telegram) draftsIn(to address) bool {
	return t.config.Streaming == StreamDrafts && to.Kind == private && to.Message != 0 && !t.drafts.none.has(to.Chat)
}

// Drafts implements [progressive.Drafter].
func (s *sink) Drafts() bool { return s.drafting }

// Draft implements [progressive.Drafter].
func (s *sink) Draft(ctx context.Context, p progressive.Part) (stays time.Duration, removed <-chan struct{}, err error) {
	removed = s.telegram.drafts.show(s.place())
	return draftTime, removed, s.sendDraft(ctx, p)
}

// place returns where the sink's drafts are shown.
func (s *sink) place() draftPlace {
	if s.topic.known {
		return draftPlace{chat: s.to.Chat}
	}
	return draftPlace{s.to.Chat, s.to.Topic}
}

// sendDraft makes the request of Draft. The draft stays when it is stopped, until the text is there as a message.
func (s *sink) sendDraft(ctx context.Context, p progressive.Part) error {
	params := words(s.to.Chat, p)
	params["draft_id"], params["can_stop"], params["keep_on_stop"] = strconv.Itoa(s.to.Message), "true", "true"
	s.addTopic(params)
	method := "sendMessageDraft"
	if isRich(p) {
		method = "sendRichMessageDraft"
	}
	var done bool
	err := s.telegram.client.call(ctx, method, params, &done)
	var r *refusal
	switch {
	case !errors.As(err, &r), isRich(p) && !r.says("textdraft_"):
	case r.code == http.StatusNotFound: // a server of one's own that is older
		s.telegram.drafts.none.add(everywhere)
		return fmt.Errorf("%w: %w", progressive.ErrNoDraft, err)
	case r.code == http.StatusBadRequest && r.says("textdraft_"):
		s.telegram.drafts.none.add(s.to.Chat)
		return fmt.Errorf("%w: %w", progressive.ErrNoDraft, err)
	}
	return s.judgeText(progressive.Draft, p, s.to.Chat, err)
}

// stoppedDraft is the press of the Stop button of a draft (MessageGenerationStopped, Bot API 10.3).
type stoppedDraft struct {
	Chat   tgbotapi.Chat `json:"chat"`
	Thread int           `json:"message_thread_id"`
	Draft  int           `json:"draft_id"`
}

// stopped ends the answer that the draft shows, and no other one of the chat. The server tells the chat alone: drafts are only shown to
// one user.
func (p *updates) stopped(ctx context.Context, u update) error {
	s := u.newer.Stopped
	if s == nil || s.Chat.ID == 0 || s.Draft == 0 {
		return nil
	}
	return p.hand(ctx, chat.Command{
		Room: p.self.room(s.Chat.ID, s.Thread), Author: entity(s.Chat.ID), Name: chat.Stop, Question: p.self.memory(s.Chat.ID, s.Draft),
	}, "a stop in", s.Chat.ID)
}

// refusing remembers chats where the server has refused something for good. The zero value is ready. It is safe for concurrent use.
type refusing struct {
	mu    sync.Mutex
	chats map[int64]bool
}

const (
	everywhere   = 0      // in place of a chat
	mostRefusing = 10_000 // with more chats, all are tried once more
)

// has reports whether the chat refuses it.
func (r *refusing) has(chat int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.chats[chat] || r.chats[everywhere]
}

// add notes that the chat refuses it.
func (r *refusing) add(chat int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.chats == nil || len(r.chats) >= mostRefusing {
		r.chats = map[int64]bool{}
	}
	r.chats[chat] = true
}
