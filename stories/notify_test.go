package stories_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/internal/require"
	"parley/models/modelfake"
)

func (c *chatHarness) wantPings(in connectortest.Room, want ...string) {
	c.Helper()
	got := c.Notified(in)
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		ok = ok && strings.Contains(got[i], want[i])
	}
	if !ok {
		c.Errorf("the messages that notified are %q; want %q", got, want)
	}
}

// wantNoPings does what /notify off does, without a message.
func (c *chatHarness) wantNoPings(u connectortest.User) {
	c.Helper()
	_, err := c.Store.SaveEntity(c.Context(), chat.Entity{ID: chat.EntityID(strings.Replace(c.Account(u), ":", "/", 1)), Details: map[string]string{chat.NotifyDetail: "off"}})
	c.Must(err)
}

const firstWords, lastWords = "Here is the first part of the answer.", " And this is the end of it."

// slowAnswer is an answer whose end comes after a time.
func slowAnswer(after time.Duration) modelfake.Script {
	return modelfake.Script{modelfake.Text(firstWords), modelfake.Pause(after), modelfake.Text(lastWords)}
}

// DR-12: edits notify no one. The end of a long answer does, once, if its asker is not reading, and wants it.
func TestChatPingWhenItIsDone(t *testing.T) {
	onEachPlatform(t, func(cfg *config.Config) { cfg.Turns.Direct = "queue" }, func(c *chatHarness) {
		ask := func(after time.Duration) {
			c.model.Queue(slowAnswer(after))
			c.Say(connectortest.Ada, c.ada, "Tell me")
		}
		ask(5 * time.Second)
		c.waitShown(c.ada, lastWords)
		c.Pass(time.Minute)
		c.wantPings(c.ada, firstWords)
		ask(40 * time.Second)
		c.waitShown(c.ada, lastWords)
		c.Pass(2 * time.Minute)
		c.wantPings(c.ada, firstWords, firstWords, lastWords)
		c.wantShown(c.ada, firstWords+lastWords, firstWords+lastWords) // not twice

		ask(40 * time.Second) // and she writes meanwhile
		c.Pass(20 * time.Second)
		c.model.Queue(modelfake.Script{modelfake.Text("Yes.")})
		c.Say(connectortest.Ada, c.ada, "Still there?")
		c.waitShown(c.ada, "Yes.")
		c.Pass(time.Minute)
		c.wantPings(c.ada, firstWords, firstWords, lastWords, firstWords, "Yes.")

		c.Say(connectortest.Ada, c.ada, "/notify off")
		c.waitShown(c.ada, "doesn't notify you any more")
		ask(40 * time.Second)
		c.Pass(2 * time.Minute)
		c.wantPings(c.ada, firstWords, firstWords, lastWords, firstWords, "Yes.", "doesn't notify", firstWords)
		c.Say(connectortest.Ada, c.ada, "/notify on")
		c.Pass(time.Minute)
		ask(40 * time.Second)
		c.Pass(2 * time.Minute)
		c.wantPings(c.ada, firstWords, firstWords, lastWords, firstWords, "Yes.", "doesn't notify", firstWords, "its end notifies you", firstWords, lastWords)
	})
}

// The commands that turn something on or off tell which it is.
func TestNotifyTellsItsState(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		for _, step := range [][2]string{{"/notify", "It is `on` now."}, {"/notify off", "any more"}, {"/notify", "It is `off` now."}} {
			c.Say(connectortest.Ada, c.ada, step[0])
			c.Pass(10 * time.Second)
			if got := c.since(c.ada, 0); !strings.Contains(strings.ReplaceAll(got[len(got)-1], "`", ""), strings.ReplaceAll(step[1], "`", "")) {
				c.Errorf("%s is answered with %q; want %q", step[0], got[len(got)-1], step[1])
			}
		}
	})
}

// An answer that waited for the decision of another user notifies its asker at the end. One that waited for its asker, who is there, does not.
func TestChatPingAfterApproval(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.orderEach(func(_ *operator, in connectortest.Room, item string) {
			c.Pass(10 * time.Minute)
			before := len(c.Notified(in))
			c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 0)
			c.Pass(time.Minute)
			c.waitShown(in, "Here is the "+item)
			if got := c.Notified(in)[before:]; in == c.ada && len(got) > 0 || in != c.ada && (len(got) != 1 || !strings.Contains(got[0], "Here is the gold")) {
				c.Errorf("after the decision about %s, the asker is notified of %q", item, got)
			}
		})
	})
}

// PARLEY_SEEDS=N adds N random moments. A kill at any moment of the end shows the answer once, and notifies at most once where nonces tell what was posted.
func TestChatPingSurvivesKills(t *testing.T) {
	waits := []time.Duration{0, 40 * time.Millisecond, 110 * time.Millisecond, 160 * time.Millisecond, 260 * time.Millisecond, time.Second}
	if n, err := strconv.Atoi(os.Getenv("PARLEY_SEEDS")); err == nil {
		for seed := range uint64(n) {
			waits = append(waits, time.Duration(rand.New(rand.NewPCG(seed, 0)).Int64N(int64(2*time.Second))))
		}
	}
	for _, wait := range waits {
		onEachPlatform(t, nil, func(c *chatHarness) {
			c.model.Queue(slowAnswer(40 * time.Second))
			c.Say(connectortest.Ada, c.ada, "Tell me")
			for range 60 * 20 {
				if synctest.Wait(); len(c.rooms()) > 0 && c.hasVerdict() {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			time.Sleep(wait)
			c.restart()
			c.Pass(2 * time.Minute)
			texts := connectortest.BotTexts(c, c.ada)
			if c.noLookup {
				texts = slices.DeleteFunc(texts, func(s string) bool { return strings.HasSuffix(s, ")") })
				c.allowedOrphans = 1
			}
			if len(texts) != 1 || texts[0] != firstWords+lastWords {
				c.Errorf("after a kill %v after the end, Ada reads %q", wait, texts)
			}
			if n := len(c.Notified(c.ada)); n != 2 && !c.noLookup || n > 3 {
				c.Errorf("after a kill %v after the end, %d messages notified: %q", wait, n, c.Notified(c.ada))
			}
		})
	}
}

// hasVerdict reports whether the end of the first answer is decided.
func (c *chatHarness) hasVerdict() bool {
	recent := require.Value(c.Store.ShownIn(c.Context(), c.rooms()[0], 10))(c)
	for id := range recent {
		run := require.Value(c.Store.Run(c.Context(), id))(c)
		if run.Verdict != nil {
			return true
		}
	}
	return false
}
