package discord_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/internal/require"
	"parley/internal/subtest"
)

// DR-29: a session that can't be resumed is given up after two failures, or after one without an answer in time, and the bot
// logs in: what was written meanwhile is fetched.
func TestResumeIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		begin, end func(w *botHarness)
		connects   int // attempts after the cut, the last of which is the login
		within     time.Duration
	}{
		"dead address": {
			func(w *botHarness) { w.fake.SetResumeURL("ws://unreachable.test:80") },
			func(w *botHarness) { w.fake.CutGateway() }, 1, 15 * time.Second,
		},
		"address that never answers": {
			func(w *botHarness) {
				l := require.Value(w.net.Listen("tcp", "silent.test:80"))(w)
				w.Cleanup(func() { _ = l.Close() })
				w.fake.SetResumeURL("ws://silent.test:80")
			},
			func(w *botHarness) { w.fake.CutGateway() }, 1, 40 * time.Second,
		},
		"no hello": {
			func(*botHarness) {}, func(w *botHarness) { w.fake.Silence(1); w.fake.CutGateway() }, 2, 40 * time.Second,
		},
		"resumes ignored": {
			func(*botHarness) {}, func(w *botHarness) { w.fake.IgnoreResumes(-1); w.fake.CutGateway() }, 2, 40 * time.Second,
		},
		"refused handshakes": {
			func(*botHarness) {},
			func(w *botHarness) {
				w.fake.Fault(discordfake.Match{Route: discordfake.ConnectGateway, Times: 2}, discordfake.Respond(503, nil, ""))
				w.fake.CutGateway()
			}, 3, 15 * time.Second,
		},
	} {
		t.Run(name, subtest.Plain(withBot, func(w *botHarness) {
			c.begin(w)
			w.start()
			w.say("before")
			time.Sleep(time.Minute)
			before := w.count(discordfake.ConnectGateway)
			c.end(w)
			w.say("meanwhile")
			time.Sleep(c.within)
			if w.fake.Sessions() != 1 || len(w.fake.Identifies()) != 2 {
				w.Errorf("%d sessions, %d identifies; want 1 and 2", w.fake.Sessions(), len(w.fake.Identifies()))
			}
			if n := w.count(discordfake.ConnectGateway) - before; n != c.connects {
				w.Errorf("%d connections, want %d", n, c.connects)
			}
			w.say("after")
			time.Sleep(10 * time.Second)
			w.wantTexts("before", "meanwhile", "after")
		}))
	}
}

// DR-29: the same at the start, for the session of the process before.
func TestStoredSessionIsGivenUp(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.fake.SetResumeURL("ws://unreachable.test:80")
		w.start()
		w.say("before")
		time.Sleep(time.Minute)
		w.restart()
		w.say("meanwhile")
		time.Sleep(time.Minute)
		w.restartAndWait()
		w.wantTexts("before", "meanwhile")
		if n := len(w.fake.Identifies()); n != 2 {
			t.Errorf("%d identifies; want 2", n)
		}
	})
}

// DR-29: a server that never says hello is asked again and again, but no login is spent.
func TestSilentServer(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.fake.Silence(-1)
		w.launch()
		time.Sleep(time.Hour)
		if n := w.count(discordfake.ConnectGateway); n < 40 || n > 120 || len(w.fake.Identifies()) != 0 {
			t.Errorf("%d connections, %d identifies in an hour", n, len(w.fake.Identifies()))
		}
		w.fake.Silence(0)
		time.Sleep(2 * time.Minute)
		if w.fake.Sessions() != 1 {
			t.Error("the bot is not connected two minutes after the silence; want one session")
		}
	})
}

// A hello without a heartbeat interval is refused: no login is spent on it.
func TestHelloWithoutAnInterval(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.launch()
		time.Sleep(time.Hour)
		if n := len(w.fake.Identifies()); n != 0 {
			t.Errorf("%d identifies in an hour; want none", n)
		}
	}, discordfake.WithHeartbeat(time.Millisecond-1)) // 0 as a number of milliseconds
}

// DR-29: the pauses grow while nothing stands, and begin again once a connection was healthy, however short.
func TestPausesBeginAgain(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.fake.Fault(discordfake.Match{Route: discordfake.ConnectGateway, Times: -1}, discordfake.DropBefore())
		w.fake.CutGateway()
		time.Sleep(20 * time.Minute)
		w.fake.ClearFaults()
		time.Sleep(2 * time.Minute)
		if w.fake.Sessions() != 1 {
			t.Fatal("the bot is not connected two minutes after the outage; want one session")
		}
		for range 5 {
			w.fake.CutGateway()
			time.Sleep(3 * time.Second)
			if w.fake.Sessions() != 1 {
				t.Error("the bot is not connected three seconds after a cut; want one session")
			}
			time.Sleep(12 * time.Second)
		}
	})
}

// DR-31: version 10 is spoken, of requests and of the gateway; the fake refuses all others.
func TestVersion(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("hello")
		w.settle()
		s := w.open()
		if _, err := s.Post(w.Context(), part("answer"), "n"); err != nil {
			t.Error(err)
		}
		for _, r := range w.fake.Log() {
			if r.Route == discordfake.ConnectGateway {
				if q, err := url.ParseQuery(r.Query); err != nil || q.Get("v") != "10" || q.Get("encoding") != "json" {
					t.Errorf("connected with %q", r.Query)
				}
			} else if !strings.HasPrefix(r.Path, "/api/v10/") {
				t.Errorf(`asked for %s; want it to begin with "/api/v10/"`, r.Path)
			}
		}
	})
}
