package discordfake

import (
	"cmp"
	"strconv"
	"time"
)

// Bits of an application's flags that say which privileged intents it has; the
// "limited" ones are for applications below the review threshold.
const (
	appPresenceLimited       = 1 << 13
	appMembersLimited        = 1 << 15
	appMessageContentLimited = 1 << 19
)

func (s *Server) applicationObject() object {
	flags := 0
	for intent, bit := range map[Intents]int{
		IntentGuildPresences: appPresenceLimited,
		IntentGuildMembers:   appMembersLimited,
		IntentMessageContent: appMessageContentLimited,
	} {
		if s.opts.privileged&intent != 0 {
			flags |= bit
		}
	}
	return object{
		"id": s.bot.id, "name": s.bot.name, "description": "", "icon": nil, "flags": flags, "flags_new": strconv.Itoa(flags),
		"bot_public": true, "bot_require_code_grant": false, "verify_key": "",
		"bot": s.bot.object(),
	}
}

// guildObject is a guild as GUILD_CREATE shows it.
func (s *Server) guildObject(g *guild) object {
	o := bareGuild(g)
	channels, threads := []object{}, []object{}
	for _, c := range g.channels {
		if c.kind == TypeThread {
			threads = append(threads, s.channelObject(c))
		} else if !c.may(ViewChannel) {
			channels = append(channels, maskedObject(c))
		} else {
			channels = append(channels, s.channelObject(c))
		}
	}
	me := s.bot.guildMember(time.Now())
	o["channels"], o["threads"], o["members"] = channels, threads, []object{me}
	o["member_count"], o["large"], o["unavailable"] = len(s.world.users), false, false
	o["joined_at"] = timestamp(g.joined)
	for _, list := range []string{"voice_states", "presences", "stage_instances", "guild_scheduled_events", "soundboard_sounds"} {
		o[list] = []object{}
	}
	if g.greets != "" {
		o["system_channel_id"] = g.greets
	}
	return o
}

// maskedObject is a channel that the bot can't view, as events have it since November 2026.
func maskedObject(c *channel) object {
	return object{"id": c.id, "type": c.kind, "guild_id": c.guild.id, "name": "___hidden___", "position": 0, "flags": FlagMasked, "last_message_id": nil, "permission_overwrites": []object{}}
}

func bareGuild(g *guild) object {
	roles := []object{roleObject(role{id: g.id, name: "@everyone"}, 0)}
	for i, r := range g.roles {
		roles = append(roles, roleObject(r, i+1))
	}
	return object{
		"id": g.id, "name": g.name, "icon": nil, "owner_id": cmp.Or(g.owner, g.id), "roles": roles,
		"emojis": []object{}, "stickers": []object{}, "features": []string{}, "preferred_locale": g.preferred(),
		"splash": nil, "discovery_splash": nil, "banner": nil, "description": nil, "application_id": nil, "vanity_url_code": nil, "hub_type": nil,
		"afk_channel_id": nil, "rules_channel_id": nil, "public_updates_channel_id": nil, "safety_alerts_channel_id": nil, "incidents_data": nil,
		"afk_timeout": 300, "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0,
		"system_channel_id": nil, "system_channel_flags": 0, "premium_tier": 0, "nsfw_level": 0, "premium_progress_bar_enabled": false, "region": "deprecated",
	}
}

// overwrites are the permissions that a test gave or took, for everyone.
func (c *channel) overwrites() []object {
	if c.granted|c.denied == 0 {
		return []object{}
	}
	return []object{{"id": c.guild.id, "type": 0, "allow": strconv.Itoa(c.granted.bits()), "deny": strconv.Itoa(c.denied.bits())}}
}

func (g *guild) preferred() string { return cmp.Or(g.locale, "en-US") }

func roleObject(r role, position int) object {
	permissions := "0"
	if position == 0 {
		permissions = strconv.Itoa(usualPermissions.bits() | 1<<15) // and files
	}
	o := object{
		"id": r.id, "name": r.name, "permissions": permissions, "position": position, "mentionable": position > 0, "managed": r.bot != "", "hoist": false,
		"flags": 0, "color": 0, "colors": object{"primary_color": 0, "secondary_color": nil, "tertiary_color": nil},
	}
	if r.bot != "" {
		o["tags"] = object{"bot_id": r.bot}
	}
	return o
}

func (s *Server) channelObject(c *channel) object {
	o := object{"id": c.id, "type": c.kind, "flags": 0, "last_message_id": nil}
	if n := len(c.messages); n > 0 {
		o["last_message_id"] = c.messages[n-1].id
	}
	if c.kind == TypeDM {
		o["recipients"] = []object{c.recipient.object()}
		return o
	}
	o["guild_id"], o["name"] = c.guild.id, c.name
	if c.kind != TypeThread {
		o["position"], o["topic"], o["nsfw"], o["parent_id"] = 0, nil, false, nil
		o["permission_overwrites"] = c.overwrites()
		if c.kind == TypeForum {
			o["available_tags"], o["default_reaction_emoji"], o["default_sort_order"], o["default_forum_layout"] = s.tagObjects(c), nil, nil, 0
		}
		return o
	}
	o["parent_id"], o["owner_id"] = c.parent.id, c.guild.id
	if c.owner != nil {
		o["owner_id"] = c.owner.id
	}
	if len(c.tags) > 0 {
		o["applied_tags"] = c.tagIDs()
	}
	o["message_count"], o["member_count"] = len(c.messages), 1
	o["thread_metadata"] = object{
		"archived": c.archived, "locked": c.locked,
		"auto_archive_duration": 1440, "archive_timestamp": timestamp(time.Now()),
	}
	return o
}
