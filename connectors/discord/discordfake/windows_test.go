package discordfake_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/internal/subtest"
)

// DR-01: buckets are per route and top-level id; routes may share one.
func TestBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, channel, _ := room(t)
		other := s.AddChannel(s.AddGuild("second"), "other")
		limit := discordfake.Limit{Requests: 2, Per: 3 * time.Second}
		s.ShareBucket("texts", limit, discordfake.CreateMessage, discordfake.EditMessage)
		id := post(t, s, channel, `{"content":"1"}`)
		time.Sleep(time.Second) // the bubble's clock
		a := send(t, s, "PATCH", "/channels/"+channel+"/messages/"+id, `{"content":"2"}`)
		h := a.header
		if h.Get("X-RateLimit-Limit") != "2" || h.Get("X-RateLimit-Remaining") != "0" || h.Get("X-RateLimit-Reset-After") != "2.000" || h.Get("X-RateLimit-Bucket") == "" {
			t.Errorf("headers of the last free one: %v", h)
		}
		a = send(t, s, "POST", "/channels/"+channel+"/messages", `{"content":"3"}`)
		if a.status != 429 || a.json["retry_after"] != 2.0 || a.json["global"] != false || a.header.Get("X-RateLimit-Scope") != "user" || a.header.Get("Retry-After") != "2" {
			t.Errorf("over the limit: %d %v %s", a.status, a.header, a.text)
		}
		if same := send(t, s, "POST", "/channels/"+other+"/messages", `{"content":"3"}`); same.status != 200 || same.header.Get("X-RateLimit-Bucket") != h.Get("X-RateLimit-Bucket") {
			t.Errorf("another channel: %d %v", same.status, same.header)
		}
		time.Sleep(2 * time.Second)
		post(t, s, channel, `{"content":"4"}`)
		log := s.Log()
		if n := s.InvalidRequests(); n != 1 || log[2].RetryAfter != 2*time.Second || log[2].Applied || !log[3].Applied {
			t.Errorf("%d invalid; log %+v", n, log)
		}
	})
}

// DR-02: the global limit shows only Retry-After.
func TestGlobalLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, channel, _ := room(t)
		s.SetLimit(discordfake.GetChannel, discordfake.Limit{Requests: 1000, Per: time.Second})
		for i := range 50 {
			if a := send(t, s, "GET", "/channels/"+channel, ""); a.status != 200 {
				t.Fatalf("request %d: %d; want 200", i, a.status)
			}
		}
		a := send(t, s, "GET", "/users/@me", "")
		if a.status != 429 || a.header.Get("X-RateLimit-Global") != "true" || a.header.Get("Retry-After") != "1" || a.header.Get("X-RateLimit-Reset-After") != "" || a.json["global"] != true {
			t.Errorf("request 51: %d %v", a.status, a.header)
		}
		s.SwitchLimits(false)
		if a := send(t, s, "GET", "/users/@me", ""); a.status != 200 {
			t.Errorf("limits off: %d; want 200", a.status)
		}
		s.SwitchLimits(true)
		time.Sleep(time.Second) // the bubble's clock
		if a := send(t, s, "GET", "/users/@me", ""); a.status != 200 {
			t.Errorf("after a second: %d; want 200", a.status)
		}
	})
}

// DR-03: an injected 429 stays in force for its scope, and is told apart.
func TestHolds(t *testing.T) {
	for scope, test := range map[discordfake.Scope]struct {
		remaining string
		elsewhere int
		invalid   int
	}{
		discordfake.ScopeUser:   {"0", 200, 2},
		discordfake.ScopeShared: {"9", 200, 0},
		discordfake.ScopeGlobal: {"", 429, 3},
	} {
		t.Run(string(scope), subtest.Of(synctest.Test, func(t *testing.T) {
			s, channel, _ := room(t)
			s.Fault(discordfake.Match{Route: discordfake.CreateMessage}, discordfake.TooManyRequests(scope, 1336570*time.Millisecond))
			path := "/channels/" + channel + "/messages"
			a := send(t, s, "POST", path, `{"content":"x"}`)
			if a.status != 429 || a.json["retry_after"] != 1336.57 || a.header.Get("Retry-After") != "1337" || a.header.Get("X-RateLimit-Remaining") != test.remaining {
				t.Errorf("429: %v %s", a.header, a.text)
			}
			time.Sleep(20 * time.Minute) // the bubble's clock
			if a := send(t, s, "POST", path, `{"content":"x"}`); a.status != 429 || !s.Log()[1].DuringHold {
				t.Errorf("too early: %d", a.status)
			}
			if a := send(t, s, "GET", "/users/@me", ""); a.status != test.elsewhere {
				t.Errorf("elsewhere: %d; want %d", a.status, test.elsewhere)
			}
			time.Sleep(3 * time.Minute)
			if a := send(t, s, "POST", path, `{"content":"x"}`); a.status != 200 {
				t.Errorf("in time: %d; want 200", a.status)
			}
			if n := s.InvalidRequests(); n != test.invalid {
				t.Errorf("%d invalid requests; want %d", n, test.invalid)
			}
		}))
	}
}

// DR-04 and DR-05: too many invalid requests end in a ban of HTML.
func TestBan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, channel, _ := room(t)
		s.SetInvalidLimit(discordfake.Limit{Requests: 3, Per: 10 * time.Minute}, time.Hour)
		s.Deny(channel, discordfake.ViewChannel)
		for range 3 {
			send(t, s, "GET", "/channels/"+channel, "")
		}
		a := send(t, s, "GET", "/users/@me", "")
		if a.status != 429 || !strings.Contains(a.text, "1015") || a.header.Get("Retry-After") != "" || !s.Banned() {
			t.Errorf("banned: %d %s", a.status, a.text)
		}
		time.Sleep(time.Hour) // the bubble's clock
		if a := send(t, s, "GET", "/users/@me", ""); a.status != 200 {
			t.Errorf("after the ban: %d; want 200", a.status)
		}
	})
}

// DR-08: an enforced nonce returns the earlier message for some minutes.
func TestNonce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, channel, _ := room(t, discordfake.WithNonceWindow(2*time.Minute))
		body := func(text string) string {
			return fmt.Sprintf(`{"content":%q,"nonce":"run-1","enforce_nonce":true}`, text)
		}
		path := "/channels/" + channel + "/messages"
		first := post(t, s, channel, body("first"))
		time.Sleep(2*time.Minute - time.Millisecond) // the bubble's clock
		a := send(t, s, "POST", path, body("second"))
		if a.id() != first || a.json["content"] != "first" || a.json["nonce"] != "run-1" || !s.Log()[1].Repeated {
			t.Errorf("within the window: %s", a.text)
		}
		s.UserDelete(first)
		if a := send(t, s, "POST", path, body("third")); a.status != http.StatusNotFound || a.code() != 10008 {
			t.Errorf("after its deletion: %d %s", a.status, a.text)
		}
		time.Sleep(time.Millisecond)
		if id := post(t, s, channel, body("fourth")); id == first {
			t.Error("the nonce still returns the first message; want a new one after its window")
		}
		if id := post(t, s, channel, `{"content":"fifth","nonce":"run-1"}`); len(s.Messages(channel)) != 2 {
			t.Errorf("a nonce that is not enforced: %s in %+v", id, s.Messages(channel))
		}
		if got := s.Messages(channel)[0].Nonce; got != "run-1" {
			t.Errorf(`nonce %q; want "run-1"`, got)
		}
	})
}

func TestConcurrentCreatesWithOneNonce(t *testing.T) {
	s, channel, _ := room(t)
	s.SwitchLimits(false)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			send(t, s, "POST", "/channels/"+channel+"/messages", `{"content":"x","nonce":"n","enforce_nonce":true}`)
			s.Messages(channel)
			s.Log()
		})
	}
	all.Wait()
	if n := len(s.Messages(channel)); n != 1 {
		t.Errorf("%d messages; want 1", n)
	}
}
