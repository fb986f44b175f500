package discordfake_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/internal/subtest"
)

// Each fault over a real HTTP exchange: what the client sees, what took
// effect, and how long it took.
func TestFaults(t *testing.T) {
	const gone = 0 // the connection closed
	for name, test := range map[string]struct {
		fault  discordfake.Fault
		status int
		posted int
		took   time.Duration
		body   string // what the answer holds
	}{
		"none":         {discordfake.Fault{}, 200, 1, 0, `"content":"x"`},
		"delay":        {discordfake.Delay(5 * time.Second), 200, 1, 5 * time.Second, `"content":"x"`},
		"delay answer": {discordfake.DelayAnswer(5 * time.Second), 200, 1, 5 * time.Second, `"content":"x"`},
		"drop before":  {discordfake.DropBefore(), gone, 0, 0, ""},
		"drop after":   {discordfake.DropAfter(), gone, 1, 0, ""},
		"twice":        {discordfake.Twice(), 200, 2, 0, `"content":"x"`},
		"502":          {discordfake.Respond(502, nil, "bad"), 502, 0, 0, "bad"},
		"502 after":    {discordfake.RespondAfter(502, nil, "bad"), 502, 1, 0, "bad"},
		"error code":   {discordfake.ErrorCode(400, 240000, "blocked link"), 400, 0, 0, `"code":240000`},
		"half body":    {discordfake.HalfBody(), gone, 1, 0, ""},
		"slow body":    {discordfake.SlowBody(8 * time.Second), 200, 1, 8 * time.Second, `"content":"x"`},
		"DR-05 HTML":   {discordfake.HTMLLimit(), 429, 0, 0, "1015"},
		"DR-05 bare":   {discordfake.HeaderlessLimit(), 429, 0, 0, `"code":0`},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			s, channel, _ := room(t)
			client := httpClient(t, serve(t, s))
			s.Fault(discordfake.Match{Route: discordfake.CreateMessage}, test.fault)
			began := time.Now()
			a, err := exchange(client, newRequest(t, s, "POST", "/channels/"+channel+"/messages", `{"content":"x"}`))
			if took := time.Since(began); took != test.took {
				t.Errorf("took %v; want %v", took, test.took)
			}
			if (err != nil) != (test.status == gone) || err == nil && a.status != test.status {
				t.Errorf("status %d, %v", a.status, err)
			}
			if err == nil && !strings.Contains(a.text, test.body) {
				t.Errorf("answer %s", a.text)
			}
			if got := len(s.Messages(channel)); got != test.posted {
				t.Errorf("%d messages posted; want %d", got, test.posted)
			}
			if log := s.Log(); log[0].Applied != (test.posted > 0) || log[0].Fault != test.fault.Name {
				t.Errorf("log: %+v", log[0])
			}
		}))
	}
}

func exchange(client *http.Client, r *http.Request) (answer, error) {
	resp, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	resp.Body = io.NopCloser(strings.NewReader(string(raw)))
	return readAnswer(resp), nil
}

// ST-05: a request whose sender gave up is applied all the same, and later.
func TestDelayedRequestOutlivesItsSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, channel, _ := room(t)
		client := httpClient(t, serve(t, s))
		s.Fault(discordfake.Match{Route: discordfake.CreateMessage}, discordfake.Delay(5*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := newRequest(t, s, "POST", "/channels/"+channel+"/messages", `{"content":"x"}`).WithContext(ctx)
		if _, err := exchange(client, r); err == nil {
			t.Error("the request got a response; want a timeout")
		}
		if n := len(s.Messages(channel)); n != 0 {
			t.Errorf("%d messages too early; want none", n)
		}
		time.Sleep(5 * time.Second) // the bubble's clock
		if n := len(s.Messages(channel)); n != 1 {
			t.Errorf("%d messages; want 1", n)
		}
	})
}

func TestFaultsMeetTheRequestsTheyArePlannedFor(t *testing.T) {
	s, channel, _ := room(t)
	other := s.AddChannel(s.AddGuild("second"), "other")
	s.SwitchLimits(false)
	s.Fault(discordfake.Match{Route: discordfake.CreateMessage, Channel: channel, Skip: 1, Times: 2}, discordfake.Respond(500, nil, ""))
	s.Fault(discordfake.Match{Route: discordfake.GetMe, Times: -1}, discordfake.Respond(503, nil, ""))
	var got []string
	for range 4 {
		a := send(t, s, "POST", "/channels/"+channel+"/messages", `{"content":"x"}`)
		b := send(t, s, "POST", "/channels/"+other+"/messages", `{"content":"x"}`)
		c := send(t, s, "GET", "/users/@me", "")
		got = append(got, fmt.Sprint(a.status, b.status, c.status))
	}
	if want := "[200 200 503 500 200 503 500 200 503 200 200 503]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	s.ClearFaults()
	if a := send(t, s, "GET", "/users/@me", ""); a.status != 200 {
		t.Errorf("cleared: %d; want 200", a.status)
	}
}

// DR-05: the long hold of /gateway/bot.
func TestGatewayHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := room(t)
		s.Fault(discordfake.Match{Route: discordfake.GetGatewayBot}, discordfake.LongGatewayHold())
		if a := send(t, s, "GET", "/gateway/bot", ""); a.status != 429 || a.header.Get("Retry-After") != "82721" {
			t.Errorf("%d %v", a.status, a.header)
		}
		time.Sleep(82720 * time.Second) // the bubble's clock
		if a := send(t, s, "GET", "/gateway/bot", ""); a.status != 429 {
			t.Errorf("a second early: %d; want 429", a.status)
		}
		time.Sleep(time.Second)
		if a := send(t, s, "GET", "/gateway/bot", ""); a.status != 200 {
			t.Errorf("in time: %d; want 200", a.status)
		}
	})
}
