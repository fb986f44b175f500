package discordfake

import (
	"net/http"
	"time"
)

func (s *Server) getGateway(c *call) (int, any, *apiError) {
	return http.StatusOK, object{"url": s.gatewayURL(c.http)}, nil
}

func (s *Server) getGatewayBot(c *call) (int, any, *apiError) {
	left, resetAfter := s.hub.starts.state(time.Now())
	return http.StatusOK, object{
		"url": s.gatewayURL(c.http), "shards": s.recommendedShards(),
		"session_start_limit": object{
			"total": s.opts.identifies, "remaining": left,
			"reset_after": resetAfter.Milliseconds(), "max_concurrency": s.opts.maxConcurrent,
		},
	}, nil
}

func (s *Server) recommendedShards() int {
	if s.opts.shards > 0 {
		return s.opts.shards
	}
	return 1 + max(0, len(s.world.guilds)-1)/1000
}

func (s *Server) gatewayURL(r *http.Request) string {
	if s.opts.gatewayURL != "" {
		return s.opts.gatewayURL
	}
	return "ws://" + r.Host
}

func (s *Server) getMe(*call) (int, any, *apiError) {
	me := s.bot.object()
	me["verified"], me["mfa_enabled"], me["flags"], me["locale"] = true, false, 0, "en-US"
	return http.StatusOK, me, nil
}

func (s *Server) getMyGuilds(*call) (int, any, *apiError) {
	all := []object{}
	for _, g := range s.world.order {
		all = append(all, object{"id": g.id, "name": g.name, "icon": nil, "owner": false, "permissions": "0", "features": []string{}})
	}
	return http.StatusOK, all, nil
}

func (s *Server) getApplication(*call) (int, any, *apiError) {
	return http.StatusOK, s.applicationObject(), nil
}

func (s *Server) getGuild(c *call) (int, any, *apiError) {
	g := s.world.guilds[c.params["guild_id"]]
	if g == nil {
		return 0, nil, refuse(http.StatusNotFound, 10004, "Unknown Guild")
	}
	return http.StatusOK, bareGuild(g), nil
}

func (s *Server) getMember(c *call) (int, any, *apiError) {
	u := s.world.users[c.params["user_id"]]
	if s.world.guilds[c.params["guild_id"]] == nil || u == nil {
		return 0, nil, refuse(http.StatusNotFound, 10007, "Unknown Member")
	}
	return http.StatusOK, u.guildMember(time.Now()), nil
}

func (s *Server) getAuditLog(c *call) (int, any, *apiError) {
	g := s.world.guilds[c.params["guild_id"]]
	if g == nil || g.addedBy == "" {
		return 0, nil, refuse(http.StatusForbidden, 50013, "Missing Permissions")
	}
	entries := []object{
		{"id": s.nextID(), "action_type": 28, "user_id": g.id, "target_id": g.id}, // of another bot
		{"id": s.nextID(), "action_type": 28, "user_id": g.addedBy, "target_id": s.bot.id},
	}
	o := object{"audit_log_entries": entries}
	for _, list := range []string{"users", "integrations", "webhooks", "guild_scheduled_events", "threads", "application_commands", "auto_moderation_rules"} {
		o[list] = []object{}
	}
	return http.StatusOK, o, nil
}

func (s *Server) getRoles(c *call) (int, any, *apiError) {
	g := s.world.guilds[c.params["guild_id"]]
	if g == nil {
		return 0, nil, refuse(http.StatusNotFound, 10004, "Unknown Guild")
	}
	return http.StatusOK, bareGuild(g)["roles"], nil
}
