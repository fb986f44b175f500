package discord_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/core/chat"
	"parley/internal/subtest"
)

func TestHearsAndAnswers(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("hello")
		w.settle()
		w.fake.Say(w.fake.AddDM(w.ann), w.ann, "psst")
		w.settle()
		w.wantTexts("hello", "psst")
		w.wantLogged("https://discord.com/oauth2/authorize?client_id=" + w.fake.BotID() + "&scope=bot+applications.commands&permissions=309237746752")
		w.stop()
		w.settle() // the fake notes the end of a connection a moment after the bot has left
		if c := w.fake.Closes(); len(c) != 1 || c[0].Received != 4000 {
			t.Errorf("closes %+v", c)
		}
	})
}

// DR-14: one missing answer to a heartbeat makes one reconnect, with a close code that keeps the session.
func TestMissingHeartbeatAckReconnects(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		time.Sleep(10 * time.Second)
		w.fake.DropAcks(1)
		time.Sleep(3 * time.Minute)
		w.say("still here?")
		w.settle()
		w.wantTexts("still here?")
		if opened, standing := w.fake.Connections(); opened != 2 || standing != 1 {
			t.Errorf("%d connections, %d stand; want 2 and 1", opened, standing)
		}
		if r := w.fake.Resumes(); len(r) != 1 || !r[0].Accepted {
			t.Errorf("resumes %+v", r)
		}
		if c := w.fake.Closes(); len(c) != 1 || c[0].Received != 4000 {
			t.Errorf("closes %+v", c)
		}
	})
}

// DR-14: a heartbeat that Discord asks for is sent at once, with the number of the newest event.
func TestHeartbeatOnRequest(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		for range 3 {
			before, last := w.fake.Heartbeats(), w.fake.LastHeartbeat()
			w.say("tick")
			w.settle()
			w.fake.RequestHeartbeat()
			w.settle()
			if n := w.fake.Heartbeats() - before; n != 1 || w.fake.LastHeartbeat() == last || w.fake.LastHeartbeat() == "null" {
				w.Errorf("%d heartbeats came, the last with %s after %s; want 1 with a new number", n, w.fake.LastHeartbeat(), last)
			}
		}
	}, discordfake.WithHeartbeat(10000*time.Hour)) // its own come later
}

// DR-15: what each end of a connection leads to. What was written meanwhile is heard.
func TestReconnect(t *testing.T) {
	for name, c := range map[string]struct {
		end                 func(w *botHarness)
		resumes, identifies int
	}{
		"op 7":                   {func(w *botHarness) { w.fake.RequestReconnect() }, 1, 1},
		"op 9, resumable":        {func(w *botHarness) { w.fake.InvalidateSessions(true) }, 1, 1},
		"op 9":                   {func(w *botHarness) { w.fake.InvalidateSessions(false) }, 0, 2},
		"cut":                    {func(w *botHarness) { w.fake.CutGateway() }, 1, 1},
		"refused, resumable":     {func(w *botHarness) { w.fake.RefuseResume(true); w.fake.CutGateway() }, 2, 1},
		"refused, not resumable": {func(w *botHarness) { w.fake.RefuseResume(false); w.fake.CutGateway() }, 1, 2},
		"4000":                   {func(w *botHarness) { w.fake.CloseGateway(4000) }, 1, 1},
		"4008":                   {func(w *botHarness) { w.fake.CloseGateway(4008) }, 1, 1},
		"4007":                   {func(w *botHarness) { w.fake.CloseGateway(4007) }, 0, 2},
		"4009":                   {func(w *botHarness) { w.fake.CloseGateway(4009) }, 0, 2},
		"1001":                   {func(w *botHarness) { w.fake.CloseGateway(1001) }, 0, 2},
	} {
		t.Run(name, subtest.Plain(withBot, func(w *botHarness) {
			w.start()
			w.say("before")
			time.Sleep(20 * time.Second)
			c.end(w)
			w.say("meanwhile")
			time.Sleep(30 * time.Second)
			w.say("after")
			w.settle()
			w.wantTexts("before", "meanwhile", "after")
			if got := len(w.fake.Resumes()); got != c.resumes {
				w.Errorf("%d resumes, want %d", got, c.resumes)
			}
			if got := len(w.fake.Identifies()); got != c.identifies {
				w.Errorf("%d identifies, want %d", got, c.identifies)
			}
			for _, end := range w.fake.Closes() {
				if end.Received == 1000 || end.Received == 1001 {
					w.Errorf("a close that ends the session: %+v", end)
				}
			}
		}))
	}
}

// DR-16: one connection only, and a sentence.
func TestFatalCloseCodes(t *testing.T) {
	for code, word := range map[int]string{
		4004: "Reset Token", 4010: "shard 0 of 1", 4011: "too many servers for 1 shards", 4012: "version", 4013: "intents", 4014: "Message Content Intent",
	} {
		t.Run(fmt.Sprint(code), subtest.Plain(withBot, func(w *botHarness) {
			w.shards = 1
			w.restart()
			w.start()
			time.Sleep(20 * time.Second)
			w.fake.CloseGateway(code)
			if said := w.fatal(); !containsWord(said, word) {
				w.Errorf("said %q", said)
			}
			if opened, _ := w.fake.Connections(); opened != 1 {
				w.Errorf("%d connections; want 1", opened)
			}
		}))
	}
}

// DR-16: an intent that Discord turns out to refuse.
func TestDisallowedIntent(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.fake.Fault(discordfake.Match{Route: discordfake.GetApplication}, discordfake.Respond(500, nil, "{}"))
		w.launch()
		if said := w.fatal(); !containsWord(said, "Message Content Intent") {
			t.Errorf("said %q", said)
		}
		if n := len(w.fake.Identifies()); n != 1 {
			t.Errorf("%d identifies; want 1", n)
		}
	}, discordfake.WithPrivileged(0))
}

// DR-19: without the intent the bot works, says so, and ignores messages without their text.
func TestWithoutMessageContent(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("not for you")
		w.fake.Say(w.channel, w.ann, "for you", discordfake.MentionBot())
		w.settle()
		w.wantTexts("for you")
		w.wantLogged("Message Content intent is off")
		if found, err := w.bot.Check(w.Context()); err != nil || !containsWord(found.NotReceived, "Message Content intent") {
			t.Errorf("check finds %q, %v", found, err)
		}
	}, discordfake.WithPrivileged(0))
}

// DR-04: a wrong token costs one request, whatever else wants something.
func TestWrongToken(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.fake.ResetToken()
		w.launch()
		if said := w.fatal(); !containsWord(said, "token") {
			t.Errorf("said %q", said)
		}
		if _, err := w.bot.Check(w.Context()); err == nil {
			t.Error("Check finds nothing")
		}
		if _, err := w.bot.Open(w.Context(), chat.Address{ConnectorData: []byte(`{"channel":"1","kind":"direct"}`)}); err == nil {
			t.Error("Open finds nothing")
		}
		if n := len(w.fake.Log()); n != 1 {
			t.Errorf("%d requests; want 1", n)
		}
	})
}

// DR-04, DR-16: the token is taken away in mid-session.
func TestTokenIsReset(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("hello")
		w.settle()
		before := len(w.fake.Log())
		w.fake.ResetToken()
		w.fatal()
		s := w.open()
		for range 5 {
			_, _ = s.Post(w.Context(), part("too late"), "n")
		}
		if n := len(w.fake.Log()) - before; n > 3 {
			t.Errorf("%d requests; want at most 3", n)
		}
	})
}

// DR-05: the gateway's address is asked for again when Discord said, and not before.
func TestLongGatewayHold(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.fake.Fault(discordfake.Match{Route: discordfake.GetGatewayBot}, discordfake.LongGatewayHold())
		w.launch()
		time.Sleep(22 * time.Hour)
		if n := w.count(discordfake.GetGatewayBot); n != 1 {
			t.Errorf("asked %d times; want 1", n)
		}
		if opened, _ := w.fake.Connections(); opened != 0 {
			t.Errorf("%d connections; want none", opened)
		}
		w.wantLogged("the bot is not connected", "wait=22h58m41s")
		time.Sleep(time.Hour)
		if w.fake.Sessions() != 1 {
			t.Error("the bot is not connected after the hold; want one session")
		}
	})
}

// DR-17: nothing is begun when today's logins are used up.
func TestSpentLogins(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		time.Sleep(20 * time.Second)
		w.fake.InvalidateSessions(false)
		time.Sleep(23 * time.Hour)
		if n := len(w.fake.Identifies()); n != 1 {
			t.Errorf("%d identifies; want 1", n)
		}
		time.Sleep(2 * time.Hour)
		if n := len(w.fake.Identifies()); n != 2 || w.fake.Sessions() != 1 {
			t.Errorf("%d identifies, %d sessions the day after; want 2 and 1", n, w.fake.Sessions())
		}
	}, discordfake.WithIdentifyLimit(1, 1))
}

// DR-17: a day of connections that end as soon as they stand.
func TestFlappingConnectionBacksOff(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.launch()
		for end := time.Now().Add(24 * time.Hour); time.Now().Before(end); {
			time.Sleep(time.Second)
			if w.fake.Sessions() > 0 {
				w.fake.CloseGateway(4009)
			}
		}
		if n := len(w.fake.Identifies()); n < 100 || n > 300 {
			t.Errorf("%d identifies in a day; want at least 100 and at most 300", n)
		}
	})
}

// DR-17: two logins are never closer than Discord allows, even if each session is refused at once.
func TestLoginsAreSpaced(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		for range 5 {
			w.fake.InvalidateSessions(false)
			time.Sleep(time.Minute)
		}
		all := w.fake.Identifies()
		for i, id := range all {
			if !id.Accepted || i > 0 && id.At.Sub(all[i-1].At) < 5*time.Second {
				t.Errorf("identify %d: %+v", i, id)
			}
		}
	})
}

// DR-21, IN-04: events that come twice, in another order, or never.
func TestDuplicateAndLateEventsAreHeardOnce(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("one")
		w.settle()
		w.fake.DuplicateEvents(2)
		w.say("two")
		w.say("three")
		w.fake.ReorderEvents(2)
		w.say("four")
		w.say("five")
		w.settle()
		w.wantTexts("one", "two", "three", "five", "four")
		ids := map[chat.MemoryID]int{}
		for _, in := range w.inboundMessages() {
			ids[in.(chat.Message).ID]++
		}
		if len(ids) != 5 {
			t.Errorf("ids %v: one message has one id, however often it comes; want 5", ids)
		}
		w.fake.OmitEvents(2)
		w.say("six")
		w.say("seven")
		w.settle()
		w.fake.CutGateway()
		time.Sleep(time.Minute)
		w.wantTexts("one", "two", "three", "five", "four", "six", "seven")
	})
}

// IN-04: a resume replays what was heard already, with the same ids.
func TestReplayedEventsAreHeardOnce(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		var want []string
		for i := range 20 {
			w.say(fmt.Sprint(i))
			want = append(want, fmt.Sprint(i))
		}
		w.fake.CutGateway()
		time.Sleep(time.Minute)
		w.wantTexts(want...)
	})
}

// What is older than an hour is not fetched any more.
func TestMissedMessagesHaveAnAge(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("before")
		time.Sleep(20 * time.Second)
		w.fake.Fault(discordfake.Match{Route: discordfake.ConnectGateway, Times: -1}, discordfake.DropBefore())
		w.fake.CloseGateway(4009)
		w.settle()
		w.say("old")
		time.Sleep(65 * time.Minute)
		w.say("new")
		w.fake.ClearFaults()
		time.Sleep(9 * time.Minute)
		w.settle()
		w.wantTexts("before", "new")
	})
}

// Whatever is going on, the end of the context is the end: no connection comes back, and no goroutine stays.
func TestStopAtAnyMoment(t *testing.T) {
	for name, begin := range map[string]func(w *botHarness){
		"op 7":      func(w *botHarness) { w.fake.RequestReconnect() },
		"op 9":      func(w *botHarness) { w.fake.InvalidateSessions(false) },
		"cut":       func(w *botHarness) { w.fake.CutGateway() },
		"4000":      func(w *botHarness) { w.fake.CloseGateway(4000) },
		"heartbeat": func(w *botHarness) { w.fake.RequestHeartbeat() },
		"no way back": func(w *botHarness) {
			w.fake.Fault(discordfake.Match{Route: discordfake.ConnectGateway, Times: -1}, discordfake.DropBefore())
			w.fake.CutGateway()
		},
		"no answer": func(w *botHarness) {
			w.fake.Fault(discordfake.Match{Route: discordfake.ConnectGateway, Times: -1}, discordfake.Delay(time.Minute))
			w.fake.CutGateway()
		},
	} {
		for _, after := range []time.Duration{0, time.Millisecond, 500 * time.Millisecond, 1500 * time.Millisecond, 4 * time.Second, time.Minute} {
			t.Run(fmt.Sprint(name, " ", after), subtest.Plain(withBot, func(w *botHarness) {
				w.start()
				begin(w)
				time.Sleep(after)
				begun := time.Now()
				w.stop()
				if d := time.Since(begun); d > 5*time.Second {
					w.Errorf("the end took %v", d)
				}
				opened, _ := w.fake.Connections()
				time.Sleep(time.Hour)
				if now, standing := w.fake.Connections(); now != opened || standing != 0 {
					w.Errorf("%d connections came later, %d stand", now-opened, standing)
				}
			}))
		}
	}
}

// A second Run after the first continues its session.
func TestRunAgain(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.stop()
		time.Sleep(10 * time.Second)
		w.start()
		w.say("hello")
		w.settle()
		w.wantTexts("hello")
	})
}

// Members see the configured line below the bot's name. A session has the line of its login, so a changed line begins a new one.
func TestPresence(t *testing.T) {
	withBot(t, func(w *botHarness) {
		want := func(lines ...string) {
			t.Helper()
			w.start()
			time.Sleep(20 * time.Second)
			var got []string
			for _, login := range w.fake.Identifies() {
				got = append(got, login.Presence)
			}
			if !slices.Equal(got, lines) {
				t.Errorf("logins with the lines %q; want %q", got, lines)
			}
		}
		want("")
		w.presence = "Ask me about the club 🎲"
		w.restart()
		want("", w.presence)
		w.restart()
		want("", w.presence)
		w.presence = ""
		w.restart()
		want("", "Ask me about the club 🎲", "")
	})
}
