// Package discordworld runs Discord's fake in tests of whole gateways.
package discordworld

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/discord/discordfake"
)

// Platform is Discord with one bot in one server, which reads everything in its channel.
type Platform struct {
	Fake *discordfake.Server

	users map[connectortest.User]string
	guild string
	group connectortest.Room

	mu     sync.Mutex
	places []connectortest.Room
}

var _ connectortest.Platform = (*Platform)(nil)

// dawn is when Discord's ids are well under way: they count from 2015.
var dawn = time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)

// New returns a platform without messages.
func New() (*Platform, error) { return NewWith() }

// NewWith is [New] with options of the server. With PARLEY_SPECS in the environment every request is compared
// with the official description too.
func NewWith(options ...discordfake.Option) (*Platform, error) {
	s, err := discordfake.SharedSpec()
	if err != nil {
		return nil, fmt.Errorf("read the description of the API: %w", err)
	}
	time.Sleep(time.Until(dawn)) // a synctest bubble begins before it
	f := discordfake.New(append(options, discordfake.WithSpec(s))...)
	w := &Platform{Fake: f, users: map[connectortest.User]string{}}
	for _, who := range []connectortest.User{connectortest.Ada, connectortest.Bob, connectortest.Eve} {
		w.users[who] = f.AddUser(string(who))
	}
	w.users[connectortest.Robot], w.users[connectortest.Self] = f.AddBot(string(connectortest.Robot)), f.BotID()
	w.guild = f.AddGuild("Friends")
	w.group = connectortest.Room(f.AddChannel(w.guild, "general"))
	return w, nil
}

// Handler implements [connectortest.World].
func (w *Platform) Handler() http.Handler { return w.Fake.Handler() }

// Close implements [connectortest.World].
func (w *Platform) Close() { w.Fake.Close() }

// Account implements [connectortest.People].
func (w *Platform) Account(who connectortest.User) string { return "discord:" + w.users[who] }

// Direct implements [connectortest.People].
func (w *Platform) Direct(who connectortest.User) connectortest.Room {
	return connectortest.Room(w.Fake.AddDM(w.users[who]))
}

// Guild is the server that the group is a channel of.
func (w *Platform) Guild() string { return w.guild }

// Group implements [connectortest.People].
func (w *Platform) Group() connectortest.Room { return w.group }

// Say implements [connectortest.People].
func (w *Platform) Say(from connectortest.User, in connectortest.Room, text string) {
	w.say(from, in, text)
}

// Mention implements [connectortest.People].
func (w *Platform) Mention(from connectortest.User, in connectortest.Room, text string) {
	w.say(from, in, text, discordfake.MentionBot())
}

// Command gives a slash command with options (name, value, name, value …), and returns the id of the interaction.
func (w *Platform) Command(from connectortest.User, in connectortest.Room, name string, options ...string) string {
	w.used(in)
	return w.Fake.Command(string(in), w.users[from], name, options...)
}

// Threads are the threads that were opened in a room.
func (w *Platform) Threads(in connectortest.Room) (all []connectortest.Room) {
	for _, id := range w.Fake.Threads(string(in)) {
		all = append(all, connectortest.Room(id))
	}
	return all
}

// User is the id of a user.
func (w *Platform) User(who connectortest.User) string { return w.users[who] }

// Transcript is what a user reads in a room.
func (w *Platform) Transcript(who connectortest.User, in connectortest.Room) string {
	return w.Fake.Transcript(string(in), w.users[who])
}

func (w *Platform) used(in connectortest.Room) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.places, in) {
		w.places = append(w.places, in)
	}
}

func (w *Platform) say(from connectortest.User, in connectortest.Room, text string, o ...discordfake.SayOption) (id string) {
	w.used(in)
	return w.Fake.Say(string(in), w.users[from], text, o...)
}

// DeliverTwice implements [connectortest.People].
func (w *Platform) DeliverTwice(say func()) {
	w.Fake.DuplicateEvents(1)
	say()
}

// Reply implements [connectortest.People].
func (w *Platform) Reply(from connectortest.User, in connectortest.Room, to connectortest.Message, text string) {
	w.say(from, in, text, discordfake.ReplyTo(to.ID))
}

// Mentioning returns text with a mention of the bot before it.
func (w *Platform) Mentioning(text string) string { return "<@" + w.Fake.BotID() + "> " + text }

// Edit implements [connectortest.People].
func (w *Platform) Edit(_ connectortest.Room, m connectortest.Message, text string) {
	w.Fake.UserEdit(m.ID, text)
}

// React implements [connectortest.People].
func (w *Platform) React(from connectortest.User, _ connectortest.Room, m connectortest.Message, emoji string, added bool) {
	w.Fake.React(m.ID, w.users[from], emoji, added)
}

// Remove implements [connectortest.People].
func (w *Platform) Remove(_ connectortest.Room, m connectortest.Message) { w.Fake.UserDelete(m.ID) }
