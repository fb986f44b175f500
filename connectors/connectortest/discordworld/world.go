// Package discordworld is Discord in stories.
package discordworld

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/discord/discordfake"
)

// World is Discord with one bot in one server, which reads everything in its channel.
type World struct {
	Fake *discordfake.Server

	users map[connectortest.Who]string
	guild string
	group connectortest.Place

	mu     sync.Mutex
	places []connectortest.Place
}

var _ connectortest.World = (*World)(nil)

// spec is the official description of the API; nil if the environment does not say where it is.
var spec = sync.OnceValues(func() (*discordfake.Spec, error) {
	dir := os.Getenv("PARLEY_SPECS")
	if dir == "" {
		return nil, nil
	}
	return discordfake.LoadSpec(dir)
})

// dawn is when Discord's ids are well under way: they count from 2015.
var dawn = time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC)

// New returns a world without messages. With PARLEY_SPECS in the environment every request is compared
// with the official description too.
func New() (*World, error) {
	s, err := spec()
	if err != nil {
		return nil, fmt.Errorf("read the description of the API: %w", err)
	}
	time.Sleep(time.Until(dawn)) // a synctest bubble begins before it
	f := discordfake.New(discordfake.WithSpec(s))
	w := &World{Fake: f, users: map[connectortest.Who]string{}}
	for _, who := range []connectortest.Who{connectortest.Ada, connectortest.Bob, connectortest.Eve} {
		w.users[who] = f.AddUser(string(who))
	}
	w.users[connectortest.Robot], w.users[connectortest.Self] = f.AddBot(string(connectortest.Robot)), f.BotID()
	w.guild = f.AddGuild("Friends")
	w.group = connectortest.Place(f.AddChannel(w.guild, "general"))
	return w, nil
}

// Handler implements [connectortest.World].
func (w *World) Handler() http.Handler { return w.Fake.Handler() }

// Close implements [connectortest.World].
func (w *World) Close() { w.Fake.Close() }

// Account implements [connectortest.People].
func (w *World) Account(who connectortest.Who) string { return "discord:" + w.users[who] }

// Direct implements [connectortest.People].
func (w *World) Direct(who connectortest.Who) connectortest.Place {
	return connectortest.Place(w.Fake.AddDM(w.users[who]))
}

// Guild is the server that the group is a channel of.
func (w *World) Guild() string { return w.guild }

// Group implements [connectortest.People].
func (w *World) Group() connectortest.Place { return w.group }

// Say implements [connectortest.People].
func (w *World) Say(from connectortest.Who, in connectortest.Place, text string) {
	w.say(from, in, text)
}

// Mention implements [connectortest.People].
func (w *World) Mention(from connectortest.Who, in connectortest.Place, text string) {
	w.say(from, in, text, discordfake.MentionBot())
}

func (w *World) say(from connectortest.Who, in connectortest.Place, text string, o ...discordfake.SayOption) (id string) {
	w.mu.Lock()
	if !slices.Contains(w.places, in) {
		w.places = append(w.places, in)
	}
	w.mu.Unlock()
	return w.Fake.Say(string(in), w.users[from], text, o...)
}

// Twice implements [connectortest.People].
func (w *World) Twice(say func()) {
	w.Fake.DuplicateEvents(1)
	say()
}

// Reply implements [connectortest.People].
func (w *World) Reply(from connectortest.Who, in connectortest.Place, to connectortest.Line, text string) {
	w.say(from, in, text, discordfake.ReplyTo(to.ID))
}

// Mentioning returns text with a mention of the bot before it.
func (w *World) Mentioning(text string) string { return "<@" + w.Fake.BotID() + "> " + text }

// Edit implements [connectortest.People].
func (w *World) Edit(_ connectortest.Place, m connectortest.Line, text string) {
	w.Fake.UserEdit(m.ID, text)
}

// React implements [connectortest.People].
func (w *World) React(from connectortest.Who, _ connectortest.Place, m connectortest.Line, emoji string, added bool) {
	w.Fake.React(m.ID, w.users[from], emoji, added)
}

// Remove implements [connectortest.People].
func (w *World) Remove(_ connectortest.Place, m connectortest.Line) { w.Fake.UserDelete(m.ID) }
