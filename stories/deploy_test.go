package stories_test

import (
	"slices"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/models/modelfake"
	"parley/progressive"
)

// ST-26: the platform definitely refuses the first message of an answer, and the gateway stops as SIGTERM stops it. The
// next process shows the whole answer, once.
func TestChatDeployDuringARefusal(t *testing.T) {
	for name, refuse := range map[string]func(c *chatHarness) (recover func()){
		"429 for 40 s": func(c *chatHarness) func() {
			c.InjectFault(connectortest.Fault{Op: progressive.Post, Hold: 40 * time.Second})
			return func() {}
		},
		"429 for 5 m": func(c *chatHarness) func() {
			c.InjectFault(connectortest.Fault{Op: progressive.Post, Hold: 5 * time.Minute})
			return func() {}
		},
		"connections are refused": func(c *chatHarness) func() {
			c.refuseConnections(c.address)
			return func() { c.refuseConnections("") }
		},
	} {
		for text, script := range map[string]modelfake.Script{"short": {modelfake.Pause(2 * time.Second), modelfake.Text("Yes.")}, "streamed": slowScript(tale)} {
			t.Run(name+"/"+text, subtest.With(onEachPlatform, func(cfg *config.Config) { cfg.Shutdown = 20 * time.Second }, func(c *chatHarness) {
				c.model.Queue(script, script)
				c.Say(connectortest.Ada, c.ada, "Tell me")
				c.Pass(time.Second)
				recovered := refuse(c)
				c.Pass(15 * time.Second)
				if own := connectortest.BotTexts(c, c.ada); len(own) > 0 {
					c.Fatalf("people read %q; want none", own)
				}
				c.shutdown()
				recovered()
				c.Pass(10 * time.Second) // a hold of less than a minute is not stored
				c.start()
				want := tale
				if text == "short" {
					want = "Yes."
				}
				c.wantShown(c.ada, want)
			}))
		}
	}
}

// A platform that can't be reached for a quarter of an hour costs time, and no answer: nothing was ever sent.
func TestChatUnreachable(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Pause(2 * time.Second), modelfake.Text("Yes.")})
		c.Say(connectortest.Ada, c.ada, "Is it so?")
		c.Pass(time.Second)
		c.refuseConnections(c.address)
		c.Pass(15 * time.Minute)
		c.refuseConnections("")
		c.wantShown(c.ada, "Yes.")
	})
}

// ST-26: the process dies while a preview is being posted, and the next one between its verdict and the last word. The
// third shows the whole answer, and the preview stays above it only where messages can't be looked up.
func TestChatTwoCrashes(t *testing.T) {
	for name, f := range map[string]connectortest.Fault{
		"the preview was posted": {Op: progressive.Post, Mute: time.Hour},
		"it was not":             {Op: progressive.Post, Dropped: true, Delay: time.Hour},
	} {
		t.Run(name, subtest.With(onEachPlatform, nil, func(c *chatHarness) {
			c.InjectFault(f)
			c.model.Queue(slowScript(tale), modelfake.Script{modelfake.Text(tale)})
			c.Say(connectortest.Ada, c.ada, "Tell me")
			c.Pass(4 * time.Second)
			c.restart()
			c.waitForRun(func(run chat.Run) bool { return run.Verdict != nil })
			if own := connectortest.BotTexts(c, c.ada); len(own) > 1 || len(own) == 1 && own[0] == tale {
				c.Fatalf("people read %q already", own)
			}
			c.restart()
			c.wantOnce(f, tale)
			c.wantModelCalls(2)
		}))
	}
}

// waitForRun waits until an open run is so.
func (c *chatHarness) waitForRun(so func(chat.Run) bool) {
	c.Helper()
	for range 60 * 100 {
		for _, room := range c.rooms() {
			open := require.Value(c.Store.OpenRuns(c.Context(), room))(c)
			if slices.ContainsFunc(open, so) {
				return
			}
		}
		c.Pass(10 * time.Millisecond)
	}
	c.Fatal("no open run met the condition; want one")
}

// ST-27: the process dies while the only message of an answer is being posted, before or after the platform has it. The
// next one sends it once more, marked, and the one after that does not.
func TestChatCrashAtTheLastCreate(t *testing.T) {
	for name, f := range map[string]connectortest.Fault{
		"it was posted": {Op: progressive.Post, Mute: time.Hour},
		"it was not":    {Op: progressive.Post, Dropped: true, Delay: time.Hour},
	} {
		t.Run(name, subtest.With(onEachPlatform, nil, func(c *chatHarness) {
			c.InjectFault(f)
			c.model.Queue(modelfake.Script{modelfake.Text("Yes.")})
			c.Say(connectortest.Ada, c.ada, "Is it so?")
			c.waitForRun(func(run chat.Run) bool { return len(run.Shown) > 0 })
			c.Pass(time.Second)
			c.restart()
			c.wantOnceOrMarked(f, "Yes.")
			c.restart()
			c.Pass(time.Minute)
			c.wantOnceOrMarked(f, "Yes.")
		}))
	}
}

// ST-28: after a restart, planned or not, the first text comes within 1.5 s, as the spent budget is known and not assumed. At most
// one request is refused.
func TestFirstTextAfterARestart(t *testing.T) {
	for name, stop := range map[string]func(*chatHarness){"planned": func(c *chatHarness) { c.shutdown() }, "crash": func(c *chatHarness) { c.crash() }} {
		t.Run(name, subtest.With(onEachPlatform, nil, func(c *chatHarness) {
			c.cfg.Shutdown = time.Second
			c.model.Queue(slowScript(tale))
			c.Say(connectortest.Ada, c.ada, "Tell me")
			c.Pass(time.Minute)
			for range 3 {
				c.model.Queue(modelfake.Script{modelfake.Pace(time.Hour), modelfake.Text(fox, modelfake.ByWord)}, modelfake.Script{modelfake.Text(fox)})
				c.Say(connectortest.Ada, c.ada, "And now?")
				c.Pass(3 * time.Second)
				stop(c)
				begun := time.Now()
				before := len(connectortest.BotTexts(c, c.ada))
				c.start()
				for !slices.Contains(connectortest.BotTexts(c, c.ada)[before:], fox) && time.Since(begun) < time.Minute {
					c.Pass(50 * time.Millisecond)
				}
				if took := time.Since(begun); took > 1500*time.Millisecond {
					c.Errorf("the text came after %v", took)
				}
				c.Pass(10 * time.Second)
			}
			refused := 0
			for _, q := range c.Requests() {
				if q.Hold > 0 {
					refused++
				}
			}
			if refused > 1 {
				c.Errorf("%d requests were refused; want at most 1", refused)
			}
		}))
	}
}
