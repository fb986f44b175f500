package discordfake_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/internal/subtest"
)

// DR-16: what closes an identify.
func TestRefusedLogins(t *testing.T) {
	for name, test := range map[string]struct {
		frame string
		code  int
	}{
		"bad token":     {`{"op":2,"d":{"token":"x","intents":1,"properties":{}}}`, 4004},
		"bad shard":     {`{"op":2,"d":{"token":"fake-token","intents":1,"properties":{},"shard":[1,1]}}`, 4010},
		"bad intents":   {`{"op":2,"d":{"token":"fake-token","intents":67108864,"properties":{}}}`, 4013},
		"disallowed":    {`{"op":2,"d":{"token":"fake-token","intents":2,"properties":{}}}`, 4014},
		"no intents":    {`{"op":2,"d":{"token":"fake-token","properties":{}}}`, 4002},
		"unknown field": {`{"op":2,"d":{"token":"fake-token","intents":1,"properties":{},"x":1}}`, 4002},
		"no JSON":       {`{"op":`, 4002},
		"DR-18 size":    {`{"op":1,"d":null` + strings.Repeat(" ", 4096) + `}`, 4002},
		"unknown op":    {`{"op":99}`, 4001},
		"too early":     {`{"op":3,"d":{}}`, 4003},
	} {
		t.Run(name, subtest.Plain(bubble, func(t *testing.T, s *discordfake.Server, mem *memNet, _, _ string) {
			g := connect(t, mem)
			g.send("%s", test.frame)
			if code := g.closed(); code != test.code {
				t.Errorf("closed with %d; want %d", code, test.code)
			}
			synctest.Wait()
			if got := s.Closes(); len(got) != 1 || got[0].Sent != test.code || !got[0].ByServer {
				t.Errorf("closes: %+v", got)
			}
		}))
	}
}

// DR-18: 120 sends in a minute.
func TestSendLimit(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, _, _ string) {
		g, _ := login(t, mem, 0)
		for range 119 { // and the identify
			g.send(`{"op":1,"d":null}`)
			g.next()
		}
		time.Sleep(time.Minute) // the bubble's clock
		for range 120 {
			g.send(`{"op":1,"d":null}`)
			g.next()
		}
		g.send(`{"op":1,"d":null}`)
		if code := g.closed(); code != 4008 {
			t.Errorf("closed with %d; want 4008", code)
		}
	}, discordfake.WithHeartbeat(time.Hour))
}

// DR-15: a lost connection resumes with what it missed, unless its close code
// or too much time ended the session.
func TestResume(t *testing.T) {
	for name, test := range map[string]struct {
		lose func(*discordfake.Server, *gw)
		want string // RESUMED, or op 9
	}{
		"cut by the server":    {func(s *discordfake.Server, _ *gw) { s.CutGateway() }, "RESUMED"},
		"server closes 4000":   {func(s *discordfake.Server, _ *gw) { s.CloseGateway(4000) }, "RESUMED"},
		"server closes 4009":   {func(s *discordfake.Server, _ *gw) { s.CloseGateway(4009) }, "op 9 false"},
		"client closes 4000":   {func(_ *discordfake.Server, g *gw) { g.bye(4000) }, "RESUMED"},
		"client closes 1000":   {func(_ *discordfake.Server, g *gw) { g.bye(1000) }, "op 9 false"},
		"client closes 1001":   {func(_ *discordfake.Server, g *gw) { g.bye(1001) }, "op 9 false"},
		"client drops the TCP": {func(_ *discordfake.Server, g *gw) { _ = g.ws.Close() }, "RESUMED"},
		"refused, may resume":  {func(s *discordfake.Server, _ *gw) { s.CutGateway(); s.RefuseResume(true) }, "op 9 true"},
		"refused":              {func(s *discordfake.Server, _ *gw) { s.CutGateway(); s.RefuseResume(false) }, "op 9 false"},
		"op 9":                 {func(s *discordfake.Server, _ *gw) { s.InvalidateSessions(false); s.CutGateway() }, "op 9 false"},
		"too late": {func(s *discordfake.Server, _ *gw) {
			s.CutGateway()
			time.Sleep(3*time.Minute + time.Second) // the bubble's clock
		}, "op 9 false"},
	} {
		t.Run(name, subtest.Plain(bubble, func(t *testing.T, s *discordfake.Server, mem *memNet, channel, ann string) {
			g, session := login(t, mem, allIntents)
			s.Say(channel, ann, "heard")
			seq := g.next().Seq
			go drain(g)
			test.lose(s, g)
			synctest.Wait()
			s.Say(channel, ann, "missed")
			again := connect(t, mem)
			again.resume(session, seq)
			f := again.next()
			if test.want != "RESUMED" {
				if got := fmt.Sprintf("op %d %s", f.Op, f.Data); got != test.want {
					t.Errorf("got %s; want %s", got, test.want)
				}
				return
			}
			if f.field("content") != "missed" || f.Seq != seq+1 {
				t.Errorf("replayed: %+v", f)
			}
			if f := again.next(); f.Type != "RESUMED" {
				t.Errorf("then: %+v", f)
			}
			if got := s.Resumes(); len(got) != 1 || !got[0].Accepted || len(s.Identifies()) != 1 {
				t.Errorf("resumes: %+v", got)
			}
		}))
	}
}

func TestResumeBeyondTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, _, _ string) {
		_, session := login(t, mem, allIntents)
		g := connect(t, mem)
		g.resume(session, 99)
		if code := g.closed(); code != 4007 {
			t.Errorf("closed with %d; want 4007", code)
		}
	})
}

// DR-14: heartbeats are acknowledged, asked for, or left without an answer;
// and a silent client is closed.
func TestHeartbeats(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, _, _ string) {
		g, _ := login(t, mem, allIntents)
		beat := func() { g.send(`{"op":1,"d":2}`) }
		if beat(); g.next().Op != 11 {
			t.Error("the heartbeat got no ACK; want op 11")
		}
		s.DropAcks(1)
		beat()
		synctest.Wait()
		s.RequestHeartbeat()
		if f := g.next(); f.Op != 1 {
			t.Errorf("the dropped ACK came: %+v", f)
		}
		if beat(); g.next().Op != 11 {
			t.Error("the heartbeat after the dropped ACK got no ACK; want op 11")
		}
		s.RequestReconnect()
		if f := g.next(); f.Op != 7 {
			t.Errorf("reconnect: %+v", f)
		}
		began := time.Now()
		if code := g.closed(); code != 4009 || time.Since(began) != 15*time.Second {
			t.Errorf("closed with %d after %v", code, time.Since(began))
		}
	}, discordfake.WithHeartbeat(10*time.Second))
}

// DR-17: identifies are counted, and overspending resets the token.
func TestIdentifyBudget(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, _, _ string) {
		login(t, mem, allIntents)
		crowded := connect(t, mem)
		crowded.identify("fake-token", 1)
		if f := crowded.next(); f.Op != 9 || string(f.Data) != "false" {
			t.Errorf("within five seconds: %+v", f)
		}
		time.Sleep(5 * time.Second) // the bubble's clock
		login(t, mem, allIntents)
		if a := send(t, s, "GET", "/gateway/bot", ""); !strings.Contains(a.text, `"remaining":0`) || !strings.Contains(a.text, `"reset_after":86395000`) {
			t.Errorf("budget: %s", a.text)
		}
		time.Sleep(5 * time.Second)
		spent := connect(t, mem)
		spent.identify("fake-token", 1)
		if code := spent.closed(); code != 4004 || s.Token() != "" {
			t.Errorf("closed with %d, token %q; want 4004 and none", code, s.Token())
		}
		if a := send(t, s, "GET", "/users/@me", ""); a.status != 401 {
			t.Errorf("after the reset: %d; want 401", a.status)
		}
	}, discordfake.WithIdentifyLimit(3, 1))
}

func TestClientThatNeverBeats(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, _, _ string) {
		began := time.Now()
		if code := connect(t, mem).closed(); code != 4009 || time.Since(began) != 15*time.Second {
			t.Errorf("closed with %d after %v", code, time.Since(began))
		}
	}, discordfake.WithHeartbeat(10*time.Second))
}

// A client that stops reading is cut, and its session can be resumed.
func TestClientThatNeverReads(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, channel, ann string) {
		login(t, mem, allIntents)
		s.Say(channel, ann, "hello")
		time.Sleep(11 * time.Second) // the bubble's clock
		if _, standing := s.Connections(); standing != 0 {
			t.Errorf("%d connections stand; want none", standing)
		}
	})
}
