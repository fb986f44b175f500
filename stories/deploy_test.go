package stories_test

import (
	"slices"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/models/modelfake"
	"parley/progressive"
)

// ST-26: the platform definitely refuses the first message of an answer, and the gateway stops as SIGTERM stops it. The
// next process shows the whole answer, once.
func TestChatDeployDuringARefusal(t *testing.T) {
	for name, refuse := range map[string]func(c *chatStory) (recover func()){
		"429 for 40 s": func(c *chatStory) func() {
			c.Spoil(connectortest.Fault{Op: progressive.Post, Hold: 40 * time.Second})
			return func() {}
		},
		"429 for 5 m": func(c *chatStory) func() {
			c.Spoil(connectortest.Fault{Op: progressive.Post, Hold: 5 * time.Minute})
			return func() {}
		},
		"connections are refused": func(c *chatStory) func() {
			c.refuse(c.at)
			return func() { c.refuse("") }
		},
	} {
		for text, script := range map[string]modelfake.Script{"short": {modelfake.Pause(2 * time.Second), modelfake.Text("Yes.")}, "streamed": slowly(tale)} {
			t.Run(name+"/"+text, func(t *testing.T) {
				onEach(t, func(cfg *config.Config) { cfg.Shutdown.Grace = 20 * time.Second }, func(c *chatStory) {
					c.model.Queue(script, script)
					c.Say(connectortest.Ada, c.ada, "Tell me")
					c.Pass(time.Second)
					recovered := refuse(c)
					c.Pass(15 * time.Second)
					if own := connectortest.Own(c, c.ada); len(own) > 0 {
						t.Fatalf("people read %q", own)
					}
					c.shutdown()
					recovered()
					c.Pass(10 * time.Second) // a hold of less than a minute is not stored
					c.start()
					want := tale
					if text == "short" {
						want = "Yes."
					}
					c.want(c.ada, want)
				})
			})
		}
	}
}

// A platform that can't be reached for a quarter of an hour costs time, and no answer: nothing was ever sent.
func TestChatUnreachable(t *testing.T) {
	onEach(t, nil, func(c *chatStory) {
		c.model.Queue(modelfake.Script{modelfake.Pause(2 * time.Second), modelfake.Text("Yes.")})
		c.Say(connectortest.Ada, c.ada, "Is it so?")
		c.Pass(time.Second)
		c.refuse(c.at)
		c.Pass(15 * time.Minute)
		c.refuse("")
		c.want(c.ada, "Yes.")
	})
}

// ST-26: the process dies while a preview is being posted, and the next one between its verdict and the last word. The
// third shows the whole answer, and the preview stays above it only where messages can't be looked up.
func TestChatTwoCrashes(t *testing.T) {
	for name, f := range map[string]connectortest.Fault{
		"the preview was posted": {Op: progressive.Post, Mute: time.Hour},
		"it was not":             {Op: progressive.Post, Dropped: true, Delay: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, nil, func(c *chatStory) {
				c.Spoil(f)
				c.model.Queue(slowly(tale), modelfake.Script{modelfake.Text(tale)})
				c.Say(connectortest.Ada, c.ada, "Tell me")
				c.Pass(4 * time.Second)
				c.crash()
				c.start()
				c.until(func(run chat.Run) bool { return run.Verdict != nil })
				if own := connectortest.Own(c, c.ada); len(own) > 1 || len(own) == 1 && own[0] == tale {
					t.Fatalf("people read %q already", own)
				}
				c.crash()
				c.start()
				c.wantOnce(f, tale)
				c.asked(2)
			})
		})
	}
}

// until waits until an open run is so.
func (c *chatStory) until(so func(chat.Run) bool) {
	c.Helper()
	for range 60 * 100 {
		for _, room := range c.rooms() {
			open, err := c.Store.OpenRuns(c.Context(), room)
			c.Must(err)
			if slices.ContainsFunc(open, so) {
				return
			}
		}
		c.Pass(10 * time.Millisecond)
	}
	c.Fatal("no run ever was")
}

// ST-27: the process dies while the only message of an answer is being posted, before or after the platform has it. The
// next one sends it once more, marked, and the one after that does not.
func TestChatCrashAtTheLastCreate(t *testing.T) {
	for name, f := range map[string]connectortest.Fault{
		"it was posted": {Op: progressive.Post, Mute: time.Hour},
		"it was not":    {Op: progressive.Post, Dropped: true, Delay: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, nil, func(c *chatStory) {
				c.Spoil(f)
				c.model.Queue(modelfake.Script{modelfake.Text("Yes.")})
				c.Say(connectortest.Ada, c.ada, "Is it so?")
				c.until(func(run chat.Run) bool { return len(run.Shown) > 0 })
				c.Pass(time.Second)
				c.crash()
				c.start()
				c.wantOnceOrMarked(f, "Yes.")
				c.crash()
				c.start()
				c.Pass(time.Minute)
				c.wantOnceOrMarked(f, "Yes.")
			})
		})
	}
}
