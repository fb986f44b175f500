// Package telegramworld is Telegram in stories.
package telegramworld

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"

	"parley/connectors/connectortest"
	"parley/connectors/telegram/telegramfake"
)

// World is Telegram with one bot, which reads everything in its groups.
type World struct {
	Fake *telegramfake.Server

	users map[connectortest.Who]telegramfake.User
	chats map[connectortest.Who]telegramfake.Chat

	mu     sync.Mutex
	group  telegramfake.Chat
	places []connectortest.Place
}

var _ connectortest.World = (*World)(nil)

// spec is the official description of the API; nil if the environment does not say where it is.
var spec = sync.OnceValues(func() (*telegramfake.Spec, error) {
	dir := os.Getenv("PARLEY_SPECS")
	if dir == "" {
		return nil, nil
	}
	return telegramfake.LoadSpec(dir)
})

// New returns a world without messages. With PARLEY_SPECS in the environment every request is compared
// with the official description too.
func New() (*World, error) {
	options := []telegramfake.Option{telegramfake.WithReadAllGroupMessages()}
	s, err := spec()
	if err != nil {
		return nil, fmt.Errorf("read the description of the API: %w", err)
	}
	if s != nil {
		options = append(options, telegramfake.WithSpec(s))
	}
	f := telegramfake.New(options...)
	w := &World{
		Fake: f, users: map[connectortest.Who]telegramfake.User{}, chats: map[connectortest.Who]telegramfake.Chat{},
	}
	for _, who := range []connectortest.Who{connectortest.Ada, connectortest.Bob, connectortest.Eve} {
		u := f.AddUser(string(who), "")
		w.users[who], w.chats[who] = u, f.AddPrivate(u)
	}
	w.users[connectortest.Robot] = telegramfake.User{ID: 4200000002, IsBot: true, FirstName: "Robot", Username: "another_bot"}
	w.users[connectortest.Self] = f.Bot()
	w.group = f.AddGroup("Friends")
	return w, nil
}

// Handler implements [connectortest.World].
func (w *World) Handler() http.Handler { return w.Fake }

// Close implements [connectortest.World]. It has no background work.
func (w *World) Close() {}

// Account implements [connectortest.People].
func (w *World) Account(who connectortest.Who) string {
	return "telegram:" + strconv.FormatInt(w.users[who].ID, 10)
}

// Direct implements [connectortest.People].
func (w *World) Direct(who connectortest.Who) connectortest.Place { return place(w.chats[who].ID) }

// Group implements [connectortest.People].
func (w *World) Group() connectortest.Place {
	w.mu.Lock()
	defer w.mu.Unlock()
	return place(w.group.ID)
}

// Migrate gives the group a new id (TR-24).
func (w *World) Migrate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.group = w.Fake.Migrate(w.group)
	w.places = append(w.places, place(w.group.ID))
}

// Say implements [connectortest.People].
func (w *World) Say(from connectortest.Who, in connectortest.Place, text string) {
	w.visit(in)
	w.Fake.Say(Chat(in), w.users[from], text)
}

// Send writes text with what else a message of Telegram's can have.
func (w *World) Send(from connectortest.Who, in connectortest.Place, text string, with ...telegramfake.SayOption) telegramfake.Message {
	w.visit(in)
	return w.Fake.Say(Chat(in), w.users[from], text, with...)
}

// Mention implements [connectortest.People].
func (w *World) Mention(from connectortest.Who, in connectortest.Place, text string) {
	w.Say(from, in, w.Mentioning(text))
}

// Twice implements [connectortest.People].
func (w *World) Twice(say func()) {
	say()
	all := w.Fake.Updates()
	w.Fake.Redeliver(all[len(all)-1].ID)
}

// Reply implements [connectortest.People].
func (w *World) Reply(from connectortest.Who, in connectortest.Place, to connectortest.Line, text string) {
	w.Send(from, in, text, telegramfake.ReplyTo(w.message(in, to).ID))
}

// Mentioning returns text with a mention of the bot before it.
func (w *World) Mentioning(text string) string { return "@" + w.Fake.Bot().Username + " " + text }

// Edit implements [connectortest.People].
func (w *World) Edit(in connectortest.Place, m connectortest.Line, text string) {
	w.Fake.UserEdit(w.message(in, m), text)
}

// React implements [connectortest.People].
func (w *World) React(from connectortest.Who, in connectortest.Place, m connectortest.Line, emoji string, added bool) {
	var old, now []string
	if added {
		now = []string{emoji}
	} else {
		old = []string{emoji}
	}
	w.Fake.React(w.message(in, m), w.users[from], old, now)
}

// Remove implements [connectortest.People].
func (w *World) Remove(in connectortest.Place, m connectortest.Line) {
	w.Fake.UserDelete(w.message(in, m))
}

// message is m as the server knows it.
func (w *World) message(in connectortest.Place, m connectortest.Line) telegramfake.Message {
	all := w.Fake.Messages(Chat(in))
	i := slices.IndexFunc(all, func(there telegramfake.Message) bool { return messageID(there.Chat, there.ID) == m.ID })
	return all[i]
}

func (w *World) visit(in connectortest.Place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, known := range w.places {
		if known == in {
			return
		}
	}
	w.places = append(w.places, in)
}

func place(chat int64) connectortest.Place {
	return connectortest.Place(strconv.FormatInt(chat, 10))
}

// Chat is the chat of a place.
func Chat(in connectortest.Place) telegramfake.Chat {
	id, _ := strconv.ParseInt(string(in), 10, 64) // the fake knows no chat 0
	return telegramfake.Chat{ID: id}
}

// messageID is the form that the connector gives to ids of messages.
func messageID(chat int64, message int) string { return fmt.Sprintf("%d/%d", chat, message) }

// SayInTopic writes in a topic of a forum.
func (w *World) SayInTopic(from connectortest.Who, in telegramfake.Chat, topic int, text string) {
	w.visit(place(in.ID))
	w.Fake.Say(in, w.users[from], text, telegramfake.InTopic(topic))
}
