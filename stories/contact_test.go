package stories_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/internal/signature"
)

// leave leaves a message for the owners as a visitor of the web chat, and returns the status and the body of the reply.
func (s *harness) leave(body string) (int, string) {
	s.Helper()
	return s.request(http.MethodPost, "/api/contact", "application/json", []byte(body))
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
		if status, body := c.leave(message); status != http.StatusServiceUnavailable || !strings.Contains(body, "could not be passed on") {
			c.Errorf("without an owner: %d %s", status, body)
		}
		c.Say(connectortest.Ada, c.ada, "Hello")
		c.Pass(time.Minute)
		for range 3 {
			if status, body := c.leave(message); status != http.StatusOK {
				c.Errorf("%d %s", status, body)
			}
			c.restart()
			c.Pass(time.Minute)
		}
		all := strings.Join(connectortest.BotTexts(c, c.ada), "\n")
		if strings.Count(all, "eve_1@example.org") != 1 || strings.Count(all, "Please call me.") != 1 || !strings.Contains(all, "Please call me. I am the owner.") || strings.Contains(all, "Forwarded") {
			c.Errorf("the owner reads %q", all)
		}
		left := c.events.contacts()
		if len(left) != 3 || left[0] != left[2] || left[0].ReplyTo != "eve_1@example.org" || left[0].Text != "Please call me. I am the owner." || left[0].Key == "" {
			c.Errorf("observers got %+v, want the message three times with one key", left)
		}
	})
}

// A help desk gets a visitor's message although no owner can be reached: at once, or not at all. With an owner it gets it later too, also
// across a crash, and from a configuration that has changed.
func TestHelpDeskGetsMessages(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		var mu sync.Mutex
		var got []string
		down := true
		l := c.listen("127.0.0.1:9000")
		server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body := require.Value(io.ReadAll(r.Body))(c)
			mu.Lock()
			defer mu.Unlock()
			if down {
				rw.WriteHeader(http.StatusBadGateway)
				return
			}
			secret := hmac.New(sha256.New, []byte("the key"))
			_, _ = secret.Write([]byte("web.contact_url"))
			if r.Header.Get("Parley-Signature") != "v1="+signature.Sign(hex.EncodeToString(secret.Sum(nil)), r.Header.Get("Parley-Timestamp"), body) {
				c.Errorf("the signature of %s is wrong", body)
			}
			got = append(got, r.Header.Get("Idempotency-Key")+string(body))
		})}
		go func() { _ = server.Serve(l) }()
		defer server.Close()
		received := func(want int) {
			c.Helper()
			mu.Lock()
			defer mu.Unlock()
			if len(got) != want || want > 0 && !strings.Contains(got[want-1], `"text":"Please call me."`) {
				c.Errorf("the help desk got %q; want %d messages", got, want)
			}
		}
		set := func(now bool) {
			mu.Lock()
			defer mu.Unlock()
			down = now
		}
		c.reload(func(cfg *config.Config) {
			cfg.Web.ContactURL, cfg.SecretKey = "http://127.0.0.1:9000/contact?key=1", "the key"
		})
		const first, second = `{"address":"eve@example.org","text":"Please call me.","clientMessageId":"one"}`, `{"address":"eve@example.org","text":"Please call me.","clientMessageId":"two"}`
		if status, body := c.leave(first); status != http.StatusServiceUnavailable || !strings.Contains(body, "could not be passed on") {
			c.Errorf("without an owner and a help desk: %d %s", status, body)
		}
		set(false)
		if status, body := c.leave(first); status != http.StatusOK {
			c.Errorf("without an owner: %d %s", status, body)
		}
		received(1)
		if left := c.events.contacts(); len(left) != 1 || left[0].ReplyTo != "eve@example.org" || left[0].Text != "Please call me." {
			c.Errorf("observers got %+v, want the message that the help desk took, and not the one that it refused", left)
		}

		set(true)
		c.reload(func(cfg *config.Config) {
			cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
		})
		c.Say(connectortest.Ada, c.ada, "Hello")
		c.Pass(time.Minute)
		if status, body := c.leave(second); status != http.StatusOK {
			c.Errorf("with an owner: %d %s", status, body)
		}
		c.restart()
		c.Pass(2 * time.Minute)
		received(1)
		c.crash()
		set(false)
		c.start()
		c.Pass(time.Hour)
		received(2)
		if all := strings.Join(connectortest.BotTexts(c, c.ada), "\n"); strings.Count(all, "Please call me.") != 1 {
			c.Errorf("the owner reads %q", all)
		}
	})
}
