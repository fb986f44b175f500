package discord

import (
	"context"
	"net/http"
	"slices"
)

// role is a role of a server.
type role struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Tags struct {
		Bot string `json:"bot_id"` // the bot that Discord made the role for, when it was added to the server
	} `json:"tags"`
}

// ownRoles caches the role that Discord made for the bot in each server. Clients offer it next to the bot's account, under the same
// name, where users choose an account to mention. It is safe for concurrent use.
type ownRoles struct {
	client        *client
	me            string
	lookups[role] // empty if the bot has none
}

// of returns the bot's own role in the server of m, if m mentions any role. If the lookup fails there is none.
func (o *ownRoles) of(ctx context.Context, m message) role {
	if len(m.Roles) == 0 || snowflake(m.Guild) == 0 {
		return role{}
	}
	return o.lookups.of(ctx, m.Guild, func(ctx context.Context, _ role) (own role, err error) {
		var all []role
		err = o.client.do(ctx, http.MethodGet, "guilds/"+m.Guild+"/roles", nil, &all)
		if i := slices.IndexFunc(all, func(r role) bool { return r.Tags.Bot == o.me }); i >= 0 {
			own = all[i]
		}
		return own, err
	})
}
