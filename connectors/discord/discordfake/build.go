package discordfake

import (
	"fmt"
	"time"
)

// AddUser adds a person and returns the user id. Everybody is a member of
// every guild.
func (s *Server) AddUser(name string) string { return s.addUser(name, false) }

// AddBot adds another bot's account and returns its user id.
func (s *Server) AddBot(name string) string { return s.addUser(name, true) }

func (s *Server) addUser(name string, bot bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.world.addUser(s.nextID(), name, bot).id
}

// AddGuild adds a server that the bot belongs to and returns its id. Sessions
// under way hear GUILD_CREATE.
func (s *Server) AddGuild(name string) string { return s.AddGuildOn(name, 0, 1) }

// AddGuildOn adds a guild that belongs to one of several shards.
func (s *Server) AddGuildOn(name string, shard, shards int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &guild{id: s.nextID(), name: name, joined: time.Now().AddDate(-1, 0, 0)}
	for ahead := time.Millisecond; shardOf(g.id, shards) != shard; ahead += time.Millisecond {
		g.id = s.ids.next(time.Now().Add(ahead))
	}
	s.world.guilds[g.id] = g
	s.world.order = append(s.world.order, g)
	s.emit(event{name: "GUILD_CREATE", guild: g.id, needs: IntentGuilds, data: s.guildObject(g)})
	return g.id
}

// SetLocale has a guild's owner choose its language.
func (s *Server) SetLocale(guildID, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.mustGuild(guildID)
	g.locale = code
	s.emit(event{name: "GUILD_UPDATE", guild: guildID, data: bareGuild(g)})
}

// AddBotTo adds the bot to a new server with a system channel now, and returns the ids of both. Sessions under way hear GUILD_CREATE.
func (s *Server) AddBotTo(name string) (guildID, channelID string) {
	return s.AddBotToIn(name, "")
}

// AddBotToIn is AddBotTo for a server with a language and more channels.
func (s *Server) AddBotToIn(name, locale string, more ...string) (guildID, channelID string) {
	s.mu.Lock()
	g := &guild{id: s.nextID(), name: name, joined: time.Now(), greets: s.nextID(), locale: locale, owner: s.owner, addedBy: s.addedBy}
	c := &channel{id: g.greets, name: "general", guild: g}
	g.channels = []*channel{c}
	for _, other := range more {
		o := &channel{id: s.nextID(), name: other, guild: g}
		g.channels, s.world.channels[o.id] = append(g.channels, o), o
	}
	s.world.guilds[g.id], s.world.channels[c.id] = g, c
	s.world.order = append(s.world.order, g)
	s.emit(event{name: "GUILD_CREATE", guild: g.id, needs: IntentGuilds, data: s.guildObject(g)})
	s.mu.Unlock()
	return g.id, c.id
}

// Adding names the owner of the servers that the bot is added to from now on, and the user who adds it, if the bot can read the audit log.
func (s *Server) Adding(owner, addedBy string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner, s.addedBy = owner, addedBy
}

// ChannelNamed is the id of a channel of a guild.
func (s *Server) ChannelNamed(guildID, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.mustGuild(guildID).channels {
		if c.name == name {
			return c.id
		}
	}
	return ""
}

// AddRole adds a role to a guild and returns its id.
func (s *Server) AddRole(guildID, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addRole(guildID, role{name: name})
}

// SetRoles sets the roles of a user in all servers.
func (s *Server) SetRoles(userID string, roles ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustUser(userID).roles = roles
}

// AddBotRole adds the role that Discord makes for the bot when it joins a guild, and returns its id.
func (s *Server) AddBotRole(guildID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addRole(guildID, role{name: s.bot.name, bot: s.bot.id})
}

func (s *Server) addRole(guildID string, r role) string {
	g := s.mustGuild(guildID)
	r.id = s.nextID()
	g.roles = append(g.roles, r)
	return r.id
}

// AddChannel adds a text channel and returns its id. Sessions under way hear
// CHANNEL_CREATE.
func (s *Server) AddChannel(guildID, name string) string {
	return s.addChannel(guildID, name, TypeText)
}

// AddNews adds a channel for announcements.
func (s *Server) AddNews(guildID, name string) string {
	return s.addChannel(guildID, name, TypeNews)
}

// AddForum adds a forum, which takes threads but no messages (50008).
func (s *Server) AddForum(guildID, name string) string {
	return s.addChannel(guildID, name, TypeForum)
}

func (s *Server) addChannel(guildID, name string, kind ChannelType) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &channel{id: s.nextID(), name: name, guild: s.mustGuild(guildID), kind: kind}
	s.world.addChannel(c)
	s.emit(event{name: "CHANNEL_CREATE", channel: c, needs: IntentGuilds, data: s.channelObject(c)})
	return c.id
}

// AddThread adds a public thread (type 11) below a text channel or forum and
// returns its id. Sessions under way hear THREAD_CREATE.
func (s *Server) AddThread(parentID, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := s.mustChannel(parentID)
	c := &channel{id: s.nextID(), name: name, guild: parent.guild, parent: parent, kind: TypeThread}
	s.world.addChannel(c)
	s.emit(event{name: "THREAD_CREATE", channel: c, needs: IntentGuilds, data: s.channelObject(c)})
	return c.id
}

// AddDM returns the id of the direct-message channel between the bot and a
// user, which it opens if there is none.
func (s *Server) AddDM(userID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openDM(s.mustUser(userID)).id
}

func (s *Server) openDM(u *user) *channel {
	if c := s.world.dm(u); c != nil {
		return c
	}
	c := &channel{id: s.nextID(), kind: TypeDM, recipient: u}
	s.world.addChannel(c)
	return c
}

// CloseDMs has a user refuse direct messages: sending to them is 50007.
func (s *Server) CloseDMs(userID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustUser(userID).dmClosed = true
}

// Grant gives the bot permissions in a channel and its threads.
func (s *Server) Grant(channelID string, p Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannel(channelID)
	c.granted, c.denied = c.granted|p, c.denied&^p
}

// Deny takes permissions from the bot in a channel and its threads. Without
// [ViewChannel] it hears nothing from there, and requests are 50001; without
// the others they are 50013.
func (s *Server) Deny(channelID string, p Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannel(channelID)
	c.granted, c.denied = c.granted&^p, c.denied|p
}

// SetThread archives or locks a thread. An archived thread refuses edits
// (50083) and is opened again by a message; a locked one refuses messages
// (160005).
func (s *Server) SetThread(channelID string, archived, locked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannel(channelID)
	c.archived, c.locked = archived, locked
}

// AutoMod refuses every message of the bot that contains word, with 200000.
func (s *Server) AutoMod(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules.blockedWords = append(s.rules.blockedWords, word)
}

// LimitOldEdits refuses edits of messages older than an hour with a 429 that
// has code 30046 (DR-11) and names retryAfter; 0 allows them again.
func (s *Server) LimitOldEdits(retryAfter time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules.oldEditHold = retryAfter
}

func (s *Server) mustGuild(id string) *guild {
	g := s.world.guilds[id]
	if g == nil {
		panic(fmt.Sprintf("discordfake: no guild %q", id))
	}
	return g
}

// SetClientLocale sets the language of all users' clients, as interactions report it.
func (s *Server) SetClientLocale(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = code
}
