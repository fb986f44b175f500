package discord

import (
	"context"
	"fmt"

	"parley/core/chat"
)

func worldID(guild string) chat.WorldID { return chat.WorldID(Name + "/" + guild) }

// joinedMessage is the type of the notice with which a server greets who is new. Beside it only events of an intent that
// Discord grants on request tell who comes and goes.
const joinedMessage = 7

// guild takes events about servers: every new session is told of all that the bot is in.
func (q *intake) guild(ctx context.Context, kind string, raw []byte) error {
	var g struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Unavailable any    `json:"unavailable"` // of a deletion: it is Discord's own trouble, the bot is still there
	}
	if err := decode(raw, &g); err != nil {
		return fmt.Errorf("read a change of servers: %w", err)
	}
	switch {
	case snowflake(g.ID) == 0, g.Unavailable != nil && g.Unavailable != false:
	case kind == "GUILD_CREATE":
		q.channels(g.ID, raw)
		q.note(ctx, g.ID, "", chat.Joined{World: chat.World{ID: worldID(g.ID), Connector: Name, Name: g.Name}})
	default:
		q.note(ctx, g.ID, "", chat.Left{World: worldID(g.ID)})
	}
	return nil
}

// greeted takes the notice that somebody is new.
func (q *intake) greeted(ctx context.Context, m message) {
	if m.Guild == "" || m.Author.ID == q.me {
		return
	}
	q.note(ctx, m.Channel, m.ID, chat.Joined{
		World: chat.World{ID: worldID(m.Guild), Connector: Name},
		Entity: chat.Entity{
			ID: entityID(m.Author.ID), Connector: Name, Names: []string{m.Author.shown(m.Member)}, Bot: m.Author.Bot,
		},
	})
}
