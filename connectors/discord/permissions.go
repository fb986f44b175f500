package discord

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"parley/core/chat"
)

// Discord's error codes of a request that the bot lacks a permission for. noReplyRight is one too.
const (
	missingAccess      = 50001
	missingPermissions = 50013
)

// permission is a bit of Discord's permissions with its name in Discord's settings.
type permission struct {
	bit  uint64
	name string
}

const administrator = 1 << 3

// needed returns the permissions that the bot uses in a channel or a thread. Links are not embedded, so it needs no permission for that.
func needed(thread bool) []permission {
	sends := permission{1 << 11, "Send Messages"}
	if thread {
		sends = permission{1 << 38, "Send Messages in Threads"}
	}
	return []permission{{1 << 10, "View Channel"}, sends, {1 << 16, "Read Message History"}, {1 << 15, "Attach Files"}, {1 << 6, "Add Reactions"}}
}

// overwrite is an exception to the permissions of a role or a member in a channel.
type overwrite struct {
	ID    string `json:"id"`
	Allow string `json:"allow"`
	Deny  string `json:"deny"`
}

// in returns rights with the exceptions that apply in a channel to a member: first that of everyone, then those of roles, then their own.
func (m rights) in(all []overwrite) uint64 {
	has := m.base
	for _, ids := range [][]string{{m.guild}, m.roles, {m.me}} {
		var allow, deny uint64
		for _, o := range all {
			if slices.Contains(ids, o.ID) {
				allow, deny = allow|bits(o.Allow), deny|bits(o.Deny)
			}
		}
		has = has&^deny | allow
	}
	if m.base&administrator != 0 {
		return ^uint64(0)
	}
	return has
}

// bits returns permissions as Discord writes them, or none if they can't be read.
func bits(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

// rights are the bot's permissions in a server.
type rights struct {
	guild, name, me string
	roles           []string // of the bot
	base            uint64   // of everyone and of these roles
}

// rights returns the bot's permissions in a server. It fails with the error of a request.
func (d *Discord) rights(ctx context.Context, guild, me string) (rights, error) {
	var g struct {
		Name  string       `json:"name"`
		Roles []serverRole `json:"roles"`
	}
	var own struct {
		Roles []string `json:"roles"`
	}
	err := d.client.do(ctx, http.MethodGet, "guilds/"+guild, nil, &g)
	if err == nil {
		err = d.client.do(ctx, http.MethodGet, "guilds/"+guild+"/members/"+me, nil, &own)
	}
	return rights{guild: guild, name: g.Name, me: me, roles: own.Roles}.with(g.Roles), err
}

// serverRole is a role of a server with its permissions.
type serverRole struct {
	ID          string `json:"id"`
	Permissions string `json:"permissions"`
}

// with returns m with the permissions of everyone and of its roles.
func (m rights) with(all []serverRole) rights {
	for _, r := range all {
		if r.ID == m.guild || slices.Contains(m.roles, r.ID) {
			m.base |= bits(r.Permissions)
		}
	}
	return m
}

// lacks returns the names of the permissions that granted lacks in a channel, or a thread.
func lacks(granted uint64, thread bool) (names []string) {
	for _, p := range needed(thread) {
		if granted&p.bit == 0 {
			names = append(names, p.name)
		}
	}
	return names
}

// The types of the channels with messages of users.
const (
	announcementChannel = 5
	forumChannel        = 15
)

// lackingIn returns the channels of a server where the bot lacks permissions, as the server describes itself, without requests. Channels
// that the bot can't view are hidden on purpose.
func lackingIn(guild, me string, raw []byte, all []guildChannel) (found []chat.Channel) {
	var g struct {
		Roles   []serverRole `json:"roles"`
		Members []struct {
			User  user     `json:"user"`
			Roles []string `json:"roles"`
		} `json:"members"`
	}
	_ = json.Unmarshal(raw, &g) // without the bot as a member, nothing is known
	for _, m := range g.Members {
		if m.User.ID != me {
			continue
		}
		has := rights{guild: guild, me: me, roles: m.Roles}.with(g.Roles)
		for _, c := range all {
			if !slices.Contains([]int{textChannel, announcementChannel, forumChannel}, c.Type) || c.Flags&maskedChannel != 0 {
				continue
			}
			if names := lacks(has.in(c.Overwrites), c.Type == forumChannel); len(names) > 0 {
				found = append(found, chat.Channel{ID: c.ID, Name: c.Name, Lacks: names})
			}
		}
	}
	return found
}

// report tells the owner, through the runtime, which permissions the bot lacks in a channel, if err is a refusal because of one. It asks
// Discord once an hour for each channel, and the runtime sends each notice once.
func (d *Discord) report(ctx context.Context, guild, channel string, err error) {
	var r *refusal
	h := d.handler.Load()
	if h == nil || guild == "" || !errors.As(err, &r) || r.code != missingAccess && r.code != missingPermissions && r.code != noReplyRight {
		return
	}
	d.reported.of(ctx, channel, func(ctx context.Context, _ bool) (bool, error) {
		in, err := d.lacking(ctx, guild, channel)
		if err == nil && len(in.Lacking[0].Lacks) > 0 {
			_, err = (*h)(ctx, in)
		}
		if err != nil {
			d.log.Warn("can't tell the owner about missing permissions", "channel", channel, "err", err)
		}
		return true, err
	})
}

// lacking returns the report of the permissions that the bot lacks in a channel. It fails with the error of a request.
func (d *Discord) lacking(ctx context.Context, guild, channel string) (in chat.Joined, err error) {
	me, err := d.me(ctx)
	if err != nil {
		return in, err
	}
	has, err := d.rights(ctx, guild, me.ID)
	if err != nil {
		return in, err
	}
	in = chat.Joined{World: chat.World{ID: worldID(guild), Connector: Name, Name: has.name}}
	var c guildChannel
	err = d.client.do(ctx, http.MethodGet, "channels/"+channel, nil, &c)
	name, parent := c.Name, c
	thread := err == nil && kindOf(c.Type) == chat.Thread
	if thread {
		err = d.client.do(ctx, http.MethodGet, "channels/"+c.Parent, nil, &parent)
	}
	granted := has.in(parent.Overwrites)
	if r := (*refusal)(nil); errors.As(err, &r) && r.code == missingAccess {
		known, _ := d.places.get(channel)
		name, granted, err = known.name, granted&^(1<<10), nil
	}
	if name == "" {
		name = channel
	}
	in.Lacking = []chat.Channel{{ID: channel, Name: name, Lacks: lacks(granted, thread)}}
	return in, err
}
