package discordfake

import (
	"encoding/json"
	"maps"
	"slices"
)

// event is a dispatch before it is known who gets it.
type event struct {
	name    string
	guild   string   // "" in a direct message, or taken from the channel
	channel *channel // nil if it is about none
	needs   Intents
	data    object
	hidden  object // the same without message content, where that is privileged
}

// emitMessage dispatches a message event. Without the content intent it is
// empty, but in direct messages, for mentions of the bot, and for the bot's
// own messages (DR-19).
func (s *Server) emitMessage(name string, m *message, o object) {
	if m.onlyFor != "" { // no session is told of it
		return
	}
	o = s.forGateway(m, o)
	ev := event{name: name, channel: m.channel, needs: messageIntent(m.channel), data: o}
	open := m.channel.guild == nil || m.author == s.bot || slices.Contains(m.mentions.users, s.bot.id)
	if !open {
		ev.hidden = withoutContent(o)
		if to, ok := o["referenced_message"].(object); ok && s.replied(m) != s.bot {
			ev.hidden["referenced_message"] = withoutContent(to)
		}
	}
	s.emit(ev)
}

func withoutContent(message object) object {
	o := maps.Clone(message)
	o["content"] = ""
	for _, list := range []string{"embeds", "attachments", "components"} {
		o[list] = []object{}
	}
	return o
}

// emit passes an event through the network's mischief to the sessions.
func (s *Server) emit(ev event) {
	if ev.channel != nil {
		ev.guild = ev.channel.guildID()
		if !ev.channel.may(ViewChannel) {
			return
		}
	}
	k := &s.hub.mischief
	switch {
	case k.omit > 0:
		k.omit--
	case k.reorder > 0:
		k.held = append(k.held, ev)
		if k.reorder--; k.reorder == 0 {
			held := k.held
			k.held = nil
			slices.Reverse(held)
			for _, e := range held {
				s.dispatch(e)
			}
		}
	case k.duplicate > 0:
		k.duplicate--
		s.dispatch(ev)
		s.dispatch(ev)
	default:
		s.dispatch(ev)
	}
}

// dispatch gives an event to every session that is to have it.
func (s *Server) dispatch(ev event) {
	for _, sn := range s.hub.sessions {
		if !sn.ended && sn.wants(ev) {
			sn.push(ev.name, sn.view(ev))
		}
	}
}

func (sn *session) wants(ev event) bool {
	if sn.intents&ev.needs != ev.needs {
		return false
	}
	shard := 0 // direct messages arrive on shard 0 only (DR-20)
	if ev.guild != "" {
		shard = shardOf(ev.guild, sn.shards)
	}
	return shard == sn.shard
}

// shardOf is the shard of a guild.
func shardOf(guild string, shards int) int { return int(number(guild) >> 22 % uint64(shards)) }

func (sn *session) view(ev event) json.RawMessage {
	if ev.hidden != nil && sn.intents&IntentMessageContent == 0 {
		return encode(ev.hidden)
	}
	return encode(ev.data)
}

// mischief is what "may never be sent, be sent once, or be sent up to N times"
// means for the next events (DR-21).
type mischief struct {
	omit, duplicate, reorder int
	held                     []event
}

// OmitEvents loses the next n events: no session ever gets them.
func (s *Server) OmitEvents(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hub.mischief.omit = n
}

// DuplicateEvents dispatches each of the next n events twice.
func (s *Server) DuplicateEvents(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hub.mischief.duplicate = n
}

// ReorderEvents holds the next n events back, and dispatches them in reverse
// order when the last of them has happened.
func (s *Server) ReorderEvents(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hub.mischief.reorder = n
}
