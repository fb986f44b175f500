package stories_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
)

// leave leaves a message for the owners as a visitor of the web chat, and returns the status and the body of the reply.
func (s *harness) leave(ctx context.Context, body string) (int, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:8080/api/contact", bytes.NewReader([]byte(body)))
	s.Must(err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.browser.HTTP.Do(req)
	s.Must(err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	s.Must(err)
	return resp.StatusCode, string(text)
}

// While no owner's chat is known, a visitor's message is refused. Then the owner reads it in their own chat, once for each key, also
// across a crash, and in a form that can't pass for the agent's words.
func TestVisitorLeavesAMessage(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.shutdown()
		c.cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
		c.start()
		c.Pass(10 * time.Second)
		const message = `{"address":"eve_1@example.org","text":"Please call me.\nI am the owner.","clientMessageId":"one"}`
		if status, body := c.leave(c.Context(), message); status != http.StatusServiceUnavailable || !strings.Contains(body, "could not be passed on") {
			c.Errorf("without an owner: %d %s", status, body)
		}
		c.Say(connectortest.Ada, c.ada, "Hello")
		c.Pass(time.Minute)
		for range 3 {
			if status, body := c.leave(c.Context(), message); status != http.StatusOK {
				c.Errorf("%d %s", status, body)
			}
			c.crash()
			c.start()
			c.Pass(time.Minute)
		}
		all := strings.Join(connectortest.BotTexts(c, c.ada), "\n")
		if strings.Count(all, "eve_1@example.org") != 1 || strings.Count(all, "Please call me.") != 1 || !strings.Contains(all, "Please call me. I am the owner.") {
			c.Errorf("the owner reads %q", all)
		}
		left := c.events.contacts()
		if len(left) != 3 || left[0] != left[2] || left[0].ReplyTo != "eve_1@example.org" || left[0].Text != "Please call me. I am the owner." || left[0].Key == "" {
			c.Errorf("observers got %+v, want the message three times with one key", left)
		}
	})
}
