package discord_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/core/chat"
	"parley/internal/subtest"
)

// DR-15, DR-30: what is written while no process runs is heard by the next one, whose session is the same: nothing is fetched,
// and nothing comes twice. It does not matter where: the channel and the direct chat have never been used before.
func TestRestartKeepsTheSession(t *testing.T) {
	for name, end := range map[string]func(*botHarness){"stop": (*botHarness).restart, "kill": (*botHarness).kill} {
		t.Run(name, subtest.Plain(withBot, func(w *botHarness) {
			w.start()
			w.say("before")
			time.Sleep(10 * time.Second)
			end(w)
			other, bob := w.fake.AddChannel(w.guild, "other"), w.fake.AddUser("bob")
			dm := w.fake.AddDM(bob)
			w.say("one")
			w.fake.Say(other, w.ann, "two", discordfake.MentionBot())
			w.fake.Say(dm, bob, "three")
			time.Sleep(time.Minute)
			w.start()
			if got := slices.Sorted(slices.Values(w.texts())); !slices.Equal(got, []string{"before", "one", "three", "two"}) {
				w.Errorf("heard %q", got)
			}
			w.wantOnce()
			if w.count(discordfake.GetMessages) != 0 || len(w.fake.Identifies()) != 1 {
				w.Errorf("%d fetches, %d identifies; want none and 1", w.count(discordfake.GetMessages), len(w.fake.Identifies()))
			}
		}))
	}
}

// restartAndWait starts the bot, and gives it a minute.
func (w *botHarness) restartAndWait() {
	w.launch()
	time.Sleep(time.Minute)
}

// wantOnce wants that no message was handed in twice.
func (w *botHarness) wantOnce() {
	w.Helper()
	for id, n := range w.counts() {
		if n != 1 {
			w.Errorf("%s was handed in %d times; want 1", id, n)
		}
	}
}

func (w *botHarness) counts() map[chat.MemoryID]int {
	ids := map[chat.MemoryID]int{}
	for _, in := range w.inboundMessages() {
		if m, ok := in.(chat.Message); ok {
			ids[m.ID]++
		}
	}
	return ids
}

// DR-30: the stored sequence is never ahead of what was accepted: a kill while one channel can't be stored, and later events
// of others were, loses neither.
func TestWatermarkIsContiguous(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		other := w.fake.AddChannel(w.guild, "other")
		w.RefuseText("stuck", errStore)
		w.say("stuck")
		for i := range 5 {
			w.fake.Say(other, w.ann, fmt.Sprint(i))
			time.Sleep(5 * time.Second)
		}
		w.kill()
		w.Refuse(nil)
		w.start()
		if got := w.texts(); !slices.Contains(got, "stuck") || len(got) != 6 {
			t.Errorf(`heard %q; want them to contain "stuck" and 6`, got)
		}
	})
}

// DR-30: a stop with a message that is not safe yet leaves it to the next process, with all that came after.
func TestStopWithUnsafeMessages(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("before")
		time.Sleep(10 * time.Second)
		w.RefuseAll(errStore)
		w.say("one")
		w.say("two")
		w.settle()
		w.restart()
		w.Refuse(nil)
		w.start()
		w.wantTexts("before", "one", "two")
	})
}

// DR-30: messages that a full lane had no room for count as open, until they are fetched.
func TestKillWithAFullLane(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.RefuseAll(errStore)
		var want []string
		for i := range 150 {
			w.say(fmt.Sprint(i))
			want = append(want, fmt.Sprint(i))
		}
		time.Sleep(10 * time.Second)
		w.kill()
		w.Refuse(nil)
		w.restartAndWait()
		w.wantTexts(want...)
	})
}

// DR-30: writes are few, however many events come.
func TestStateIsWrittenSeldom(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		for range 600 {
			w.say("hello")
			time.Sleep(100 * time.Millisecond)
		}
		if n := w.written(); n == 0 || n > 40 {
			t.Errorf("%d writes in a minute", n)
		}
	})
}

// DR-30: where the session is lost, what was missed is fetched: in channels and direct chats that were in use, and in
// channels of servers that were not, if something was written. What was heard before is not fetched, what others' bots and
// the bot itself wrote is no question.
func TestLostSession(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		thread := w.fake.AddThread(w.channel, "topic")
		other, quiet, bob := w.fake.AddChannel(w.guild, "other"), w.fake.AddChannel(w.guild, "quiet"), w.fake.AddUser("bob")
		dm := w.fake.AddDM(bob)
		w.say("a")
		w.fake.Say(thread, w.ann, "b")
		w.fake.Say(dm, bob, "c")
		w.fake.Say(quiet, w.ann, "d")
		time.Sleep(2 * time.Hour)
		w.restart()
		w.say("one", discordfake.MentionBot())
		w.fake.Say(thread, w.ann, "two")
		w.fake.Say(dm, bob, "three")
		w.fake.Say(other, w.ann, "four")
		w.fake.Say(dm, w.fake.BotID(), "the bot's own")
		time.Sleep(10 * time.Minute) // the session can't be resumed any more
		w.restartAndWait()
		got := w.texts()
		slices.Sort(got)
		if !slices.Equal(got, []string{"a", "b", "c", "d", "four", "one", "three", "two"}) {
			t.Errorf("heard %q", got)
		}
		w.wantOnce()
		if n := w.count(discordfake.GetMessages); n != 4 {
			t.Errorf("%d fetches; want 4", n)
		}
		w.say("live")
		w.settle()
		if got := w.texts(); got[len(got)-1] != "live" {
			t.Errorf("heard %q", got)
		}
	})
}

// DR-30: a first start fetches nothing, nor does one with catch_up: 0.
func TestNothingIsFetched(t *testing.T) {
	for name, off := range map[string]bool{"first start": false, "off": true} {
		t.Run(name, subtest.Plain(withBot, func(w *botHarness) {
			if off {
				w.catchUp = 0
				w.restart()
				w.start()
				w.say("before")
				w.settle()
				w.restart()
			}
			w.say("missed", discordfake.MentionBot())
			time.Sleep(10 * time.Minute)
			w.restartAndWait()
			if n := w.count(discordfake.GetMessages); n != 0 || slices.Contains(w.texts(), "missed") {
				w.Errorf(`%d fetches, heard %q; want none and them without "missed"`, n, w.texts())
			}
		}))
	}
}

// DR-30: what is fetched is bounded: by age, by number, and by when the channel was used.
func TestCatchUpIsBounded(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		bob, eve := w.fake.AddUser("bob"), w.fake.AddUser("eve")
		dm, busy := w.fake.AddDM(bob), w.fake.AddDM(eve)
		w.fake.Say(dm, bob, "long ago")
		time.Sleep(8 * 24 * time.Hour)
		w.fake.Say(busy, eve, "today")
		time.Sleep(10 * time.Second)
		w.restart()
		w.fake.Say(dm, bob, "in a chat out of use")
		w.fake.Say(busy, eve, "too old")
		time.Sleep(61 * time.Minute)
		for i := range 120 {
			w.fake.Say(busy, eve, fmt.Sprint(i))
		}
		time.Sleep(10 * time.Minute)
		w.restartAndWait()
		got := w.texts()
		if len(got) != 102 || got[2] != "20" || got[101] != "119" {
			t.Errorf("heard %d: %q", len(got), got)
		}
		if n := w.count(discordfake.GetMessages); n != 1 {
			t.Errorf("%d fetches; want 1", n)
		}
	})
}

// DR-30: fetches are paced, and a process that ends in the middle of them leaves the rest to the next.
func TestCatchUpIsPacedAndResumed(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		var chats []string
		var want []string
		for i := range 40 {
			who := w.fake.AddUser(fmt.Sprint("user", i))
			chats = append(chats, w.fake.AddDM(who))
			w.fake.Say(chats[i], who, fmt.Sprint("hello ", i))
			want = append(want, fmt.Sprint("hello ", i), fmt.Sprint("missed ", i))
		}
		time.Sleep(10 * time.Second)
		w.restart()
		for i, c := range chats {
			w.fake.Say(c, w.ann, fmt.Sprint("missed ", i))
		}
		time.Sleep(10 * time.Minute)
		w.launch()
		for w.count(discordfake.GetMessages) == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		if n := w.count(discordfake.GetMessages); n < 5 || n > 15 {
			t.Errorf("%d fetches in three seconds; want at least 5 and at most 15", n)
		}
		w.kill()
		w.restartAndWait()
		got := w.texts()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("heard %q; want %q", got, want)
		}
	})
}

// DR-30: an outage in which one session is lost after another misses nothing, and a server that is described late is
// searched late.
func TestSessionsLostInARow(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("before")
		time.Sleep(20 * time.Second)
		w.restart()
		w.say("missed")
		time.Sleep(10 * time.Minute)
		w.fake.Fault(discordfake.Match{Route: discordfake.GetMessages, Times: 3}, discordfake.Respond(502, nil, ""))
		w.launch()
		time.Sleep(time.Second)
		w.fake.InvalidateSessions(false)
		time.Sleep(2 * time.Minute)
		w.wantTexts("before", "missed")
	})
}

// Channels that were fetched in a session's beginning hand in what is live behind it.
func TestLiveMessagesDuringCatchUp(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("before")
		time.Sleep(2 * time.Minute)
		w.restart()
		w.say("missed")
		time.Sleep(10 * time.Minute)
		w.fake.Fault(discordfake.Match{Route: discordfake.GetMessages}, discordfake.DelayAnswer(5*time.Second))
		w.launch()
		for w.count(discordfake.GetMessages) == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		w.say("live")
		time.Sleep(10 * time.Second)
		w.wantTexts("before", "missed", "live")
		if n := w.counts()[w.newest().ID]; n != 1 || w.newest().Text != "live" {
			t.Errorf("what was live came %d times", n)
		}
	})
}

// State that can't be read is not used, and said to be lost; state that can't be stored is logged.
func TestBrokenState(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.kept["discord/"+w.fake.BotID()+"/session"] = "{"
		w.start()
		w.say("hello")
		w.settle()
		w.wantTexts("hello")
		w.wantLogged("is unreadable and ignored")
		w.life.dead = true
		w.say("again")
		time.Sleep(10 * time.Second)
		w.wantLogged("the state of the Discord connection can't be saved")
		if strings.Count(w.log.String(), "the state of the Discord connection can't be saved") > 1 {
			t.Error(w.log.String())
		}
	})
}
