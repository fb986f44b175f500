package discord

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
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
	client *client
	me     string

	mu    sync.Mutex
	known map[string]rememberedRole // by server
}

// rememberedRole is an entry of the cache; its role is empty if the bot has none.
type rememberedRole struct {
	role
	until time.Time
}

func newOwnRoles(c *client, me string) *ownRoles {
	return &ownRoles{client: c, me: me, known: map[string]rememberedRole{}}
}

// of returns the bot's own role in the server of m, if m mentions any role. If the lookup fails there is none; the result of a refusal is
// kept for as long as a success, and other failures are kept for a minute.
func (o *ownRoles) of(ctx context.Context, m message) role {
	if len(m.Roles) == 0 || snowflake(m.Guild) == 0 {
		return role{}
	}
	o.mu.Lock()
	r, ok := o.known[m.Guild]
	o.mu.Unlock()
	if ok && time.Now().Before(r.until) {
		return r.role
	}
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	var all []role
	life := placeLife
	if err := o.client.do(ctx, http.MethodGet, "guilds/"+m.Guild+"/roles", nil, &all); err != nil && !errors.As(err, new(*refusal)) {
		life = guessLife
	}
	r = rememberedRole{until: time.Now().Add(life)}
	for _, found := range all {
		if found.Tags.Bot == o.me {
			r.role = found
		}
	}
	o.remember(m.Guild, r)
	return r.role
}

// remember caches r, evicting any entry if there are too many.
func (o *ownRoles) remember(guild string, r rememberedRole) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.known) >= mostPlaces {
		for old := range o.known {
			delete(o.known, old)
			break
		}
	}
	o.known[guild] = r
}
