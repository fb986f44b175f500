package telegramfake

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// webhook is where updates are sent, while [Server.CallWebhook] runs.
type webhook struct {
	url, secret string
	ip          string
	connections int
	errorAt     time.Time
	err         string
}

const (
	hookTimeout = time.Minute
	mostBackoff = time.Minute
)

// CallWebhook sends updates to the webhook, while there is one, until ctx is done. Like the real server, it sends those of
// a chat one after the other, in order, and others at the same time; it repeats an update until the response is a
// success, after a pause that grows or that the response demands; and a redirect is a failure.
func (s *Server) CallWebhook(ctx context.Context, client *http.Client) {
	s.mu.Lock()
	s.queue.hook = make(chan struct{}, 1)
	s.mu.Unlock()
	plain := *client
	plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var calls sync.WaitGroup
	defer calls.Wait()
	busy, ended := map[int64]bool{}, make(chan int64)
	for {
		hook, next := s.nextCalls(busy)
		for _, u := range next {
			busy[u.chat()] = true
			calls.Go(func() {
				s.callUntilTaken(ctx, &plain, hook, u)
				select {
				case ended <- u.chat():
				case <-ctx.Done():
				}
			})
		}
		select {
		case chat := <-ended:
			delete(busy, chat)
		case <-s.queue.hook:
		case <-ctx.Done():
			return
		}
	}
}

// nextCalls returns the webhook, and the first update of each chat that is not busy, as connections permit.
func (s *Server) nextCalls(busy map[int64]bool) (hook webhook, next []Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.webhook.url == "" {
		return s.webhook, nil
	}
	taken := maps.Clone(busy)
	for _, u := range s.queue.first(len(s.queue.pending)) {
		if chat := u.chat(); !taken[chat] && len(taken) < s.webhook.connections {
			taken[chat] = true
			next = append(next, u)
		}
	}
	return s.webhook, next
}

// callUntilTaken sends u until it is taken, until it expires, or until there is another webhook.
func (s *Server) callUntilTaken(ctx context.Context, client *http.Client, hook webhook, u Update) {
	for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, mostBackoff) {
		again, err := callOnce(ctx, client, hook, u)
		s.mu.Lock()
		if err == nil {
			s.queue.pending = slices.DeleteFunc(s.queue.pending, func(p Update) bool { return p.ID == u.ID })
		} else {
			s.webhook.errorAt, s.webhook.err = time.Now(), err.Error()
		}
		over := err == nil || s.webhook.url != hook.url || !slices.ContainsFunc(s.queue.first(len(s.queue.pending)), func(p Update) bool { return p.ID == u.ID })
		s.mu.Unlock()
		if over {
			return
		}
		_ = sleep(ctx, cmp.Or(again, wait)) // the loop ends with ctx
	}
}

// callOnce makes one request. again is the pause that a failure demands.
func callOnce(ctx context.Context, client *http.Client, hook webhook, u Update) (again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.url, bytes.NewReader(u.Body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	if hook.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", hook.secret)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("connection failed: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode/100 == 2 {
		return 0, nil
	}
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second, fmt.Errorf("wrong response from the webhook: %s", resp.Status)
}

// chat returns the chat that orders u relative to others.
func (u Update) chat() int64 {
	type chat struct{ ID int64 }
	type place struct {
		Chat    chat                 `json:"chat"`
		Message *struct{ Chat chat } `json:"message"`
	}
	var kinds map[string]json.RawMessage
	var p place
	_ = json.Unmarshal(u.Body, &kinds) // our own
	_ = json.Unmarshal(kinds[u.Kind], &p)
	if p.Message != nil {
		return p.Message.Chat.ID
	}
	return p.Chat.ID
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
	if secret := c.params["secret_token"]; !regexp.MustCompile(`^[A-Za-z0-9_-]{0,256}$`).MatchString(secret) {
		return nil, s.rejectLocked(c, errors.New("secret token contains unallowed characters"))
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
	s.queue.wake()
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
	if s.webhook.err != "" {
		info["last_error_date"], info["last_error_message"] = s.webhook.errorAt.Unix(), s.webhook.err
	}
	if s.webhook.ip != "" {
		info["ip_address"] = s.webhook.ip
	}
	if !maps.Equal(s.queue.allowed, defaultUpdates()) {
		info["allowed_updates"] = slices.Sorted(maps.Keys(s.queue.allowed))
	}
	return info, nil
}
