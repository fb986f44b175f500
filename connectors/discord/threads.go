package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"parley/connectors"
	"parley/core/chat"
	"parley/core/text"
	"parley/progressive"
)

const (
	threadName     = 60 // characters of a provisional title
	longestTitle   = 100
	starterMessage = 21 // stands in a thread for the message that it was opened from
)

// threads decides which messages open threads, and adds the beginnings of threads to their messages. It is safe for
// concurrent use.
//
// A thread that is opened from a message has the message's id. So a message that opens one is delivered as the first
// message of that thread before the thread exists, and every process that shows its answer opens the same one.
type threads struct {
	client  *client
	config  *Config
	refused lookups[bool] // channels where Discord refused to open a thread
	begun   lookups[bool] // threads whose beginning was added within the hour
}

// begins reports whether the answer to in opens a thread: if a person mentions the bot in a text channel. Commands and replies to the
// bot belong to the channel.
func (t *threads) begins(m message, in chat.Message, me string) bool {
	_, refused := t.refused.get(m.Channel)
	return in.Place.Kind == chat.Group && m.mentions(me) && !m.repliesTo(me) && !m.automatic() && !chat.IsCommand(in.Text) &&
		!refused && t.config.threadsIn(m.Channel, m.Guild)
}

// begin returns in as the first message of the thread that its answer opens.
func (m message) begin(in chat.Message) chat.Message {
	title := cmp.Or(text.Brief(in.Text, threadName), in.Name, "Thread")
	to := address{Channel: m.ID, Guild: m.Guild, Parent: m.Channel, Title: title, Kind: chat.Thread}
	in.Room = roomID(m.ID)
	in.Place.ID, in.Place.Kind, in.Place.Name, in.Place.Chats = in.Room, chat.Thread, title, []string{m.ID, m.Channel}
	in.Address = chat.Address{Connector: Name, Room: in.Room, ReplyTo: in.ID, ConnectorData: to.encode(), Untitled: true}
	return in
}

// addStart adds the first message of a thread to in, as the message that it replies to: the bot may not have received
// it. That happens once an hour. In a thread of the bot, that message is part of the conversation anyway.
func (t *threads) addStart(ctx context.Context, m message, p place, in *chat.Message, me string) {
	if p.kind != chat.Thread || p.owner == me || !in.Addressed || m.Reference != nil {
		return
	}
	t.begun.of(ctx, m.Channel, func(ctx context.Context, _ bool) (bool, error) {
		var found []json.RawMessage
		if err := t.client.do(ctx, http.MethodGet, "channels/"+m.Channel+"/messages?after=0&limit=1", nil, &found); err != nil || len(found) == 0 {
			return true, err
		}
		first, err := parseMessage(found[0])
		if err != nil {
			return true, err
		}
		start := &first
		if first.Type == starterMessage {
			start = first.Referenced // nil if it was deleted
		}
		if start != nil && start.ID != m.ID {
			start.quoteIn(&in.Memory, me)
		}
		return true, nil
	})
}

// openThread opens the thread of an address, before its first message. A thread that exists is used as it is. Where Discord
// refuses a thread, the answer is shown in the channel, as a reply; then the following mentions there open none for an hour.
func (s *sink) openThread(ctx context.Context) error {
	if s.to.Title == "" || s.opened {
		return nil
	}
	in := struct {
		Name string `json:"name"`
	}{s.to.Title}
	err := s.do(ctx, progressive.Post, http.MethodPost, "channels/"+s.to.Parent+"/messages/"+s.to.Channel+"/threads", in, nil)
	s.learned = nil // it tells of another route than that of messages
	var r *refusal
	switch {
	case err == nil, errors.As(err, &r) && r.code == threadExists:
	case errors.Is(err, progressive.ErrAmbiguous):
		return fmt.Errorf("%w: %w", progressive.ErrUnsent, err) // to open it again has no effect
	case r == nil || errors.Is(err, progressive.ErrGone):
		return err
	default:
		s.log.Error("Discord refuses to open a thread, so the answer is shown in the channel. The bot needs the permission Create Public Threads",
			"channel", s.to.Parent, "err", r)
		s.threads.refused.put(s.to.Parent, true, placeLife)
		s.instead, s.closed, s.alone = s.to.Parent, false, false
	}
	s.opened = true
	return nil
}

// whereShown makes a request for a message that was posted before, maybe by another process: in the thread of the address, or in its
// channel if there is no thread, because Discord refused it.
func (s *sink) whereShown(request func() error) error {
	err := request()
	if r := (*refusal)(nil); s.to.Title == "" || s.opened || !errors.As(err, &r) || r.code != unknownChannel {
		return err
	}
	s.instead, s.opened = s.to.Parent, true
	return request()
}

// sayLocked tells the users of the channel that a thread was locked, if err says so. It tries that once.
func (s *sink) sayLocked(ctx context.Context, nonce string, err error) {
	var r *refusal
	if !errors.As(err, &r) || r.code != threadLocked && r.code != threadArchived || s.to.Parent == "" {
		return
	}
	b := body{Nonce: nonceOf(nonce + "/locked"), Enforce: true, Content: s.prose.Say("message.locked", "channel", "<#"+s.to.Channel+">")}
	if err := s.client.do(ctx, http.MethodPost, "channels/"+s.to.Parent+"/messages", b, nil); err != nil {
		s.log.Info("the channel can't be told that its thread is locked", "channel", s.to.Parent, "err", err)
	}
}

// Title implements [connectors.Titler].
func (d *Discord) Title(ctx context.Context, a chat.Address, title string) error {
	to, err := parseAddress(a.ConnectorData)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	in := struct {
		Name string `json:"name"`
	}{text.Brief(title, longestTitle)}
	err = d.client.do(ctx, http.MethodPatch, "channels/"+to.Channel, in, nil)
	if r := (*refusal)(nil); errors.As(err, &r) {
		return nil // the thread was deleted, or does not exist
	}
	return err
}

var _ connectors.Titler = (*Discord)(nil)
