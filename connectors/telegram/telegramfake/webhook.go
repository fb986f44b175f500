package telegramfake

import (
	"maps"
	"net/url"
	"slices"
)

// webhook is only stored: no updates are sent to it.
type webhook struct {
	url, secret string
	ip          string
	connections int
}

// Webhook returns the URL set by setWebhook, or "".
func (s *Server) Webhook() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.webhook.url
}

func (s *Server) setWebhook(c *call) (any, error) {
	to := c.params["url"]
	if to == "" {
		return s.deleteWebhook(c)
	}
	if u, err := url.Parse(to); err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, badRequest("bad webhook: An HTTPS URL must be provided for webhook")
	}
	allowed, err := allowedUpdates(c)
	if err != nil {
		return nil, s.rejectLocked(c, err)
	}
	if allowed != nil {
		s.queue.allowed = allowed
	}
	if c.params["drop_pending_updates"] == "true" {
		s.queue.pending = nil
	}
	s.queue.endPoll(conflict("terminated by setWebhook request"))
	s.webhook = webhook{url: to, secret: c.params["secret_token"], ip: c.params["ip_address"], connections: 40}
	if n := c.int("max_connections"); n > 0 {
		s.webhook.connections = min(n, 100)
	}
	return true, nil
}

func (s *Server) deleteWebhook(c *call) (any, error) {
	if c.params["drop_pending_updates"] == "true" {
		s.queue.pending = nil
	}
	s.webhook = webhook{}
	return true, nil
}

func (s *Server) getWebhookInfo(*call) (any, error) {
	info := map[string]any{
		"url": s.webhook.url, "has_custom_certificate": false,
		"pending_update_count": len(s.queue.first(len(s.queue.pending))),
	}
	if s.webhook.url != "" {
		info["max_connections"] = s.webhook.connections
	}
	if s.webhook.ip != "" {
		info["ip_address"] = s.webhook.ip
	}
	if !maps.Equal(s.queue.allowed, defaultUpdates()) {
		info["allowed_updates"] = slices.Sorted(maps.Keys(s.queue.allowed))
	}
	return info, nil
}
