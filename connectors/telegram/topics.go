package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/chat"
	"parley/core/text"
	"parley/progressive"
)

const (
	untitledTopic = "New conversation" // the name of a topic of /new, until the small model gives it one
	longestTopic  = 128
	mostTopics    = 1000 // that are remembered
)

// opening is the service message at the beginning of a topic.
type opening struct {
	Name     string `json:"name"`
	Implicit bool   `json:"is_name_implicit"` // made up by the client
}

// untitled reports whether the name of the topic is provisional.
func (o *opening) untitled() bool { return o != nil && (o.Implicit || o.Name == untitledTopic) }

// topic is a topic of a private chat.
type topic struct {
	message int // the /new that it was opened for
	id      int
}

// openTopic moves a /new in a private chat into a new topic, if users may open topics: each topic is a conversation of its own.
// If the update is delivered again after an error, the topic is the same; after a crash an empty one can be left.
func (p *updates) openTopic(ctx context.Context, m *tgbotapi.Message, newer *newerMessage) error {
	command, _, _ := chat.ParseCommand(m.Text)
	if !p.self.topics || m.Chat.Type != private || command != chat.NewCommand {
		return nil
	}
	p.mu.Lock()
	opened := p.opened[m.Chat.ID]
	p.mu.Unlock()
	if opened.message != m.MessageID {
		var created struct {
			ID int `json:"message_thread_id"`
		}
		params := tgbotapi.Params{"chat_id": strconv.FormatInt(m.Chat.ID, 10), "name": untitledTopic}
		err := p.paced(ctx, address{Chat: m.Chat.ID, Kind: private}, "createForumTopic", params, &created)
		if r := (*refusal)(nil); errors.Is(err, progressive.ErrNoPermit) || errors.As(err, &r) && r.code < http.StatusInternalServerError && r.code != http.StatusTooManyRequests {
			p.log.Warn("there is no topic for a new conversation", "err", err)
			return nil // /new then concerns the current one
		} else if err != nil {
			return fmt.Errorf("open a topic: %w", err)
		}
		opened = topic{m.MessageID, created.ID}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.opened == nil || len(p.opened) >= mostTopics {
			p.opened = map[int64]topic{}
		}
		p.opened[m.Chat.ID] = opened
	}
	newer.Thread, newer.InTopic = opened.id, true
	return nil
}

// Title implements [connectors.Titler]: it names the topic of an address.
func (t *Telegram) Title(ctx context.Context, a chat.Address, title string) error {
	to, err := parseAddress(a.ConnectorData)
	if err != nil || to.Topic == 0 {
		return err
	}
	var done bool
	err = t.paced(ctx, to, "editForumTopic", tgbotapi.Params{
		"chat_id": strconv.FormatInt(t.moves.now(to.Chat), 10), "message_thread_id": strconv.Itoa(to.Topic), "name": text.Brief(title, longestTopic),
	}, &done)
	if r := (*refusal)(nil); errors.As(err, &r) && r.code == http.StatusBadRequest {
		return nil // the topic was deleted, or has this name
	}
	return err
}

var _ connectors.Titler = (*Telegram)(nil)
