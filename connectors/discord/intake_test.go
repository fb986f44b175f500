package discord_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/core/chat"
)

var errStore = errors.New("the store is down")

// What could not be stored comes again, in order; other rooms go on.
func TestHandlerFails(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		other := w.fake.AddChannel(w.guild, "other")
		room := chat.RoomID("discord/" + w.channel)
		down := true
		w.Refuse(func(in chat.Inbound) error {
			if m := in.(chat.Message); m.Room == room && down {
				return errStore
			}
			return nil
		})
		w.say("one")
		w.say("two")
		w.settle()
		w.fake.Say(other, w.ann, "elsewhere")
		w.settle()
		w.wantTexts("elsewhere")
		time.Sleep(10 * time.Minute)
		w.Refuse(nil)
		time.Sleep(30 * time.Second)
		w.wantTexts("elsewhere", "one", "two")
	})
}

// A lane that is full loses nothing: the rest is fetched when it is empty.
func TestMoreThanALaneHolds(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.RefuseAll(errStore)
		var want []string
		for i := range 150 {
			w.say(fmt.Sprint(i))
			want = append(want, fmt.Sprint(i))
		}
		w.settle()
		w.Refuse(nil)
		time.Sleep(time.Minute)
		w.wantTexts(want...)
		if n := w.count(discordfake.GetMessages); n != 1 {
			t.Errorf("fetched %d times; want 1", n)
		}
	})
}

// IN-11: a message that makes the handler panic is dropped, and its room goes on.
func TestHandlerPanics(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.Refuse(func(in chat.Inbound) error {
			if in.(chat.Message).Text == "poison" {
				panic("boom")
			}
			return nil
		})
		w.say("before")
		w.say("poison")
		w.say("after")
		time.Sleep(time.Minute)
		w.wantTexts("before", "after")
		w.wantLogged("is dropped")
	})
}

// What has come in is handed in before the end.
func TestStopWithFullLanes(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.RefuseAll(errStore)
		w.say("one")
		w.say("two")
		w.settle()
		w.Refuse(nil)
		w.stop()
		w.wantTexts("one", "two")
	})
}

// The channel's kind and name are asked for once; a message is not lost over it.
func TestPlaces(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		thread := w.fake.AddThread(w.channel, "topic")
		w.fake.Say(thread, w.ann, "one")
		w.fake.Say(thread, w.ann, "two")
		w.settle()
		for _, in := range w.inboundMessages() {
			if p := in.(chat.Message).Place; p.Kind != chat.Thread || p.Name != "topic" || !slices.Contains(p.Chats, w.channel) || string(p.World) != "discord/"+w.guild {
				t.Errorf("%+v", p)
			}
		}
		if n := w.count(discordfake.GetChannel); n != 1 {
			t.Errorf("asked %d times; want 1", n)
		}
		w.fake.Fault(discordfake.Match{Route: discordfake.GetChannel}, discordfake.Respond(http.StatusBadGateway, nil, ""))
		w.say("three")
		w.settle()
		w.wantTexts("one", "two", "three")
	})
}

// A fetch of missed messages that fails is tried again.
func TestFetchFails(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("one")
		w.settle()
		w.fake.OmitEvents(1)
		w.say("two")
		w.fake.Fault(discordfake.Match{Route: discordfake.GetMessages}, discordfake.Respond(http.StatusBadGateway, nil, ""))
		w.fake.Fault(discordfake.Match{Route: discordfake.GetMessages}, discordfake.TooManyRequests(discordfake.ScopeUser, 20*time.Second))
		w.fake.CutGateway()
		time.Sleep(time.Minute)
		w.wantTexts("one", "two")
		if strings.Contains(w.log.String(), "may be lost") {
			t.Error(w.log.String())
		}
	})
}

// A message that could not be stored is tried again, also when the connection that brought it has ended.
func TestReconnectWhileAMessageFails(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.RefuseAll(errStore)
		w.say("one")
		w.settle()
		w.fake.CutGateway()
		time.Sleep(time.Minute)
		w.Refuse(nil)
		w.say("two")
		time.Sleep(time.Minute)
		w.wantTexts("one", "two")
	})
}

// A message that fails at the end is not overtaken by the next one of its channel: the next process gets both, in order.
func TestStopKeepsTheOrder(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.say("before")
		time.Sleep(10 * time.Second)
		w.RefuseText("one", errStore)
		w.say("one")
		w.say("two")
		w.settle()
		w.restart()
		w.Refuse(nil)
		w.start()
		w.wantTexts("before", "one", "two")
	})
}
