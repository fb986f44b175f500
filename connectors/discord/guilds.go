package discord

import (
	"fmt"

	"parley/core/chat"
)

// worldID returns the id of a server, which Discord calls a guild.
func worldID(guild string) chat.WorldID { return chat.WorldID(Name + "/" + guild) }

// joinedMessage is the type of a server's welcome message for a new member. Discord's events about members need a
// privileged intent; this message does not.
const joinedMessage = 7

// guild handles events about servers: every new session starts with one for each server that the bot is in. The runtime
// recognizes servers that it has already. An unavailable server (an outage) is neither joined nor left.
func (q *intake) guild(kind string, raw []byte) error {
	var g struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Unavailable any    `json:"unavailable"` // in a deletion it means an outage; the bot is still a member
	}
	if err := decode(raw, &g); err != nil {
		return fmt.Errorf("read a change of servers: %w", err)
	}
	switch {
	case snowflake(g.ID) == 0, g.Unavailable != nil && g.Unavailable != false:
	case kind == "GUILD_CREATE":
		q.described(g.ID, raw)
		q.note(g.ID, "", chat.Joined{World: chat.World{ID: worldID(g.ID), Connector: Name, Name: g.Name}})
	default:
		q.note(g.ID, "", chat.Left{World: worldID(g.ID)})
	}
	return nil
}

// greeted delivers a new member from a welcome message. Servers can switch these messages off; then the runtime learns
// of members only when they write.
func (q *intake) greeted(m message) {
	if m.Guild == "" || m.Author.ID == q.me {
		return
	}
	q.note(m.Channel, m.ID, chat.Joined{
		World: chat.World{ID: worldID(m.Guild), Connector: Name},
		Entity: chat.Entity{
			ID: entityID(m.Author.ID), Connector: Name, Names: []string{m.Author.shown(m.Member)}, Bot: m.Author.Bot,
		},
	})
}
