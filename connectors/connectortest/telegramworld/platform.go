// Package telegramworld runs Telegram's fake in tests of whole gateways.
package telegramworld

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"parley/connectors/connectortest"
	"parley/connectors/telegram/telegramfake"
)

// Platform is Telegram with one bot, which reads everything in its groups.
type Platform struct {
	Fake *telegramfake.Server

	users map[connectortest.User]telegramfake.User
	chats map[connectortest.User]telegramfake.Chat

	mu     sync.Mutex
	group  telegramfake.Chat
	places []connectortest.Room
}

var _ connectortest.Platform = (*Platform)(nil)

// New returns a platform without messages. With PARLEY_SPECS in the environment every request is compared
// with the official description too.
func New() (*Platform, error) {
	s, err := telegramfake.SharedSpec()
	if err != nil {
		return nil, fmt.Errorf("read the description of the API: %w", err)
	}
	f := telegramfake.New(telegramfake.WithReadAllGroupMessages(), telegramfake.WithSpec(s))
	w := &Platform{
		Fake: f, users: map[connectortest.User]telegramfake.User{}, chats: map[connectortest.User]telegramfake.Chat{},
	}
	for _, who := range []connectortest.User{connectortest.Ada, connectortest.Bob, connectortest.Eve} {
		u := f.AddUser(string(who), "")
		w.users[who], w.chats[who] = u, f.AddPrivate(u)
	}
	w.users[connectortest.Robot] = telegramfake.User{ID: 4200000002, IsBot: true, FirstName: "Robot", Username: "another_bot"}
	w.users[connectortest.Self] = f.Bot()
	w.group = f.AddGroup("Friends")
	return w, nil
}

// Handler implements [connectortest.World].
func (w *Platform) Handler() http.Handler { return w.Fake }

// Close implements [connectortest.World]. It has no background work.
func (w *Platform) Close() {}

// Account implements [connectortest.People].
func (w *Platform) Account(who connectortest.User) string {
	return "telegram:" + strconv.FormatInt(w.users[who].ID, 10)
}

// Direct implements [connectortest.People].
func (w *Platform) Direct(who connectortest.User) connectortest.Room { return place(w.chats[who].ID) }

// Group implements [connectortest.People].
func (w *Platform) Group() connectortest.Room {
	w.mu.Lock()
	defer w.mu.Unlock()
	return place(w.group.ID)
}

// Migrate gives the group a new id (TR-24).
func (w *Platform) Migrate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.group = w.Fake.Migrate(w.group)
	w.places = append(w.places, place(w.group.ID))
}

// Say implements [connectortest.People].
func (w *Platform) Say(from connectortest.User, in connectortest.Room, text string) {
	w.visit(in)
	w.Fake.Say(Chat(in), w.users[from], text)
}

// Send writes text with what else a message of Telegram's can have.
func (w *Platform) Send(from connectortest.User, in connectortest.Room, text string, with ...telegramfake.SayOption) telegramfake.Message {
	w.visit(in)
	return w.Fake.Say(Chat(in), w.users[from], text, with...)
}

// Mention implements [connectortest.People].
func (w *Platform) Mention(from connectortest.User, in connectortest.Room, text string) {
	w.Say(from, in, w.Mentioning(text))
}

// DeliverTwice implements [connectortest.People].
func (w *Platform) DeliverTwice(say func()) {
	say()
	all := w.Fake.Updates()
	w.Fake.Redeliver(all[len(all)-1].ID)
}

// Reply implements [connectortest.People].
func (w *Platform) Reply(from connectortest.User, in connectortest.Room, to connectortest.Message, text string) {
	w.Send(from, in, text, telegramfake.ReplyTo(w.message(in, to).ID))
}

// Mentioning returns text with a mention of the bot before it.
func (w *Platform) Mentioning(text string) string { return "@" + w.Fake.Bot().Username + " " + text }

// Edit implements [connectortest.People].
func (w *Platform) Edit(in connectortest.Room, m connectortest.Message, text string) {
	w.Fake.UserEdit(w.message(in, m), text)
}

// React implements [connectortest.People].
func (w *Platform) React(from connectortest.User, in connectortest.Room, m connectortest.Message, emoji string, added bool) {
	var old, now []string
	if added {
		now = []string{emoji}
	} else {
		old = []string{emoji}
	}
	w.Fake.React(w.message(in, m), w.users[from], old, now)
}

// Remove implements [connectortest.People].
func (w *Platform) Remove(in connectortest.Room, m connectortest.Message) {
	w.Fake.UserDelete(w.message(in, m))
}

// message is m as the server knows it.
func (w *Platform) message(in connectortest.Room, m connectortest.Message) telegramfake.Message {
	all := w.Fake.Messages(Chat(in))
	i := slices.IndexFunc(all, func(there telegramfake.Message) bool { return idOf(there) == m.ID })
	return all[i]
}

func (w *Platform) visit(in connectortest.Room) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, known := range w.places {
		if known == in {
			return
		}
	}
	w.places = append(w.places, in)
}

func place(chat int64) connectortest.Room {
	return connectortest.Room(strconv.FormatInt(chat, 10))
}

// Chat is the chat of a place.
func Chat(in connectortest.Room) telegramfake.Chat {
	id, _ := strconv.ParseInt(string(in), 10, 64) // the fake knows no chat 0
	return telegramfake.Chat{ID: id}
}

// messageID is the form that the connector gives to ids of messages.
func messageID(chat int64, message int) string { return fmt.Sprintf("%d/%d", chat, message) }

// idOf is the same for a message that can be ephemeral.
func idOf(m telegramfake.Message) string {
	if m.Receiver != 0 {
		return fmt.Sprintf("%d/e%d/%d", m.Chat, -m.ID, m.Receiver)
	}
	return messageID(m.Chat, m.ID)
}

// SayEphemeral sends a command that only the bot sees.
func (w *Platform) SayEphemeral(from connectortest.User, in connectortest.Room, text string) {
	w.visit(in)
	w.Fake.SayEphemeral(Chat(in), w.users[from], text)
}

// SayInTopic writes in a topic of a forum.
func (w *Platform) SayInTopic(from connectortest.User, in telegramfake.Chat, topic int, text string) {
	w.visit(place(in.ID))
	w.Fake.Say(in, w.users[from], text, telegramfake.InTopic(topic))
}

// User returns the account of a user.
func (w *Platform) User(who connectortest.User) telegramfake.User { return w.users[who] }
