package discordfake_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"parley/connectors/discord/discordfake"
	"parley/internal/require"
)

func TestEvents(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, channel, ann string) {
		g, _ := login(t, mem, allIntents)
		id := s.Say(channel, ann, "hello")
		s.UserEdit(id, "hello!")
		s.Unfurl(id)
		s.UserTyping(channel, ann)
		s.UserDelete(id)
		post(t, s, channel, `{"content":"echo","nonce":"n-1"}`)
		dm := s.AddDM(ann)
		s.Say(dm, ann, "psst")
		thread := s.AddThread(channel, "thread")
		want := []string{
			"MESSAGE_CREATE hello", "MESSAGE_UPDATE hello!", "MESSAGE_UPDATE hello!", "TYPING_START <nil>",
			"MESSAGE_DELETE <nil>", "MESSAGE_CREATE echo", "MESSAGE_CREATE psst", "THREAD_CREATE <nil>",
		}
		frames := map[string]frame{}
		for i, w := range want {
			f := g.next()
			if got := fmt.Sprint(f.Type, " ", f.field("content")); got != w || f.Seq != i+3 {
				t.Errorf("event %d with s %d: %s, want %s", i, f.Seq, got, w)
			}
			frames[w] = f
		}
		if f := frames["MESSAGE_CREATE hello"]; f.field("guild_id") == nil || f.field("edited_timestamp") != nil {
			t.Errorf("in a guild: %s", f.Data)
		}
		if f := frames["MESSAGE_UPDATE hello!"]; len(f.field("embeds").([]any)) != 1 {
			t.Errorf("IN-12 unfurl: %s", f.Data)
		}
		if f := frames["MESSAGE_CREATE echo"]; f.field("nonce") != "n-1" {
			t.Errorf("DR-08 echo: %s", f.Data)
		}
		if f := frames["MESSAGE_CREATE psst"]; f.field("guild_id") != nil || f.field("channel_id") != dm {
			t.Errorf("direct message: %s", f.Data)
		}
		if f := frames["THREAD_CREATE <nil>"]; f.field("id") != thread || f.field("parent_id") != channel {
			t.Errorf("thread: %s", f.Data)
		}
	})
}

// DR-19: without MESSAGE_CONTENT, content is for direct messages, mentions of
// the bot and own messages; and events come by intent only.
func TestIntents(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, channel, ann string) {
		g, _ := login(t, mem, discordfake.IntentGuilds|discordfake.IntentGuildMessages|discordfake.IntentDMs)
		s.UserTyping(channel, ann)
		s.Say(channel, ann, "private")
		s.Say(channel, ann, "for you", discordfake.MentionBot())
		s.Say(s.AddDM(ann), ann, "direct")
		post(t, s, channel, `{"content":"own"}`)
		s.Deny(channel, discordfake.ViewChannel)
		s.Say(channel, ann, "unseen")
		s.Grant(channel, discordfake.ViewChannel)
		s.Say(channel, ann, "seen", discordfake.MentionBot())
		mention := "<@" + s.BotID() + "> "
		for _, want := range []string{"", mention + "for you", "direct", "own", mention + "seen"} {
			if f := g.next(); f.Type != "MESSAGE_CREATE" || f.field("content") != want {
				t.Errorf("%s %q, want %q", f.Type, f.field("content"), want)
			}
		}
	})
}

// DR-21: events may come never, twice, or in another order.
func TestMischief(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, channel, ann string) {
		g, _ := login(t, mem, allIntents)
		say := func(texts ...string) {
			for _, text := range texts {
				s.Say(channel, ann, text)
			}
		}
		s.OmitEvents(1)
		say("lost", "a")
		s.DuplicateEvents(1)
		say("b", "c")
		s.ReorderEvents(3)
		say("d", "e", "f", "g")
		seq := 2
		for _, want := range []string{"a", "b", "b", "c", "f", "e", "d", "g"} {
			f := g.next()
			if seq++; f.field("content") != want || f.Seq != seq {
				t.Errorf("%v with s %d, want %s with %d", f.field("content"), f.Seq, want, seq)
			}
		}
		if n := len(s.Messages(channel)); n != 8 {
			t.Errorf("users see %d messages; want 8", n)
		}
	})
}

// DR-20: every session gets the events of its shard; direct messages are for
// shard 0.
func TestShards(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, channel, ann string) {
		var shards [2]*gw
		for i := range shards {
			shards[i] = connect(t, mem)
			shards[i].send(`{"op":2,"d":{"token":"fake-token","intents":%d,"properties":{},"shard":[%d,2]}}`, allIntents&^discordfake.IntentGuilds, i)
			shards[i].next()
			time.Sleep(5 * time.Second) // the bubble's clock
		}
		s.Say(channel, ann, "guild")
		s.Say(s.AddDM(ann), ann, "direct")
		synctest.Wait()
		s.RequestReconnect()
		heard := ""
		for i, g := range shards {
			for f := g.next(); f.Op != 7; f = g.next() {
				heard += fmt.Sprint(i, f.field("content"), " ")
			}
		}
		if heard != "0guild 0direct " && heard != "0direct 1guild " {
			t.Errorf("heard %q", heard)
		}
		if n := s.Sessions(); n != 2 {
			t.Errorf("%d sessions; want 2", n)
		}
	})
}

// DR-20: a shard takes 2500 guilds. More are refused with 4011, until the bot has
// as many shards as are recommended.
func TestTooManyGuilds(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, _, _ string) {
		for range 2500 { // one is there already
			time.Sleep(time.Millisecond) // the bubble's clock
			s.AddGuild("guild")
		}
		if a := send(t, s, "GET", "/gateway/bot", ""); !strings.Contains(a.text, `"shards":3`) {
			t.Errorf("recommended: %s", a.text)
		}
		identify := func(shard, shards int) *gw {
			time.Sleep(5 * time.Second)
			g := connect(t, mem)
			g.send(`{"op":2,"d":{"token":"fake-token","intents":1,"properties":{},"shard":[%d,%d]}}`, shard, shards)
			return g
		}
		if code := identify(0, 1).closed(); code != 4011 {
			t.Errorf("one shard is closed with %d; want 4011", code)
		}
		if code := identify(3, 3).closed(); code != 4010 {
			t.Errorf("the fourth of three shards is closed with %d; want 4010", code)
		}
		guilds := 0
		for i := range 3 {
			ready := identify(i, 3).next()
			of, _ := ready.field("guilds").([]any)
			guilds += len(of)
		}
		if guilds != 2501 {
			t.Errorf("three shards have %d guilds; want 2501", guilds)
		}
		if n := fmt.Sprint(s.Shards()); !strings.Contains(n, "[2 3]") {
			t.Errorf(`logged in: %s; want it to contain "[2 3]"`, n)
		}
	})
}

func TestGatewayFaults(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, _, _ string) {
		s.Fault(discordfake.Match{Route: discordfake.ConnectGateway}, discordfake.Respond(503, nil, ""))
		s.Fault(discordfake.Match{Route: discordfake.ConnectGateway}, discordfake.DropBefore())
		dialer := websocket.Dialer{NetDialContext: mem.Dial}
		_, resp, err := dialer.Dial("ws://gateway.test/?v=9&encoding=json", nil)
		if err == nil || resp == nil || resp.StatusCode != 503 {
			t.Errorf("503: %v %v", resp, err)
		}
		if _, _, err := dialer.Dial("ws://gateway.test/?v=9&encoding=json", nil); err == nil {
			t.Error("the dropped connection was opened; want an error")
		}
		ws, _, err := dialer.Dial("ws://gateway.test/?v=6", nil)
		require.NoError(t, err)
		defer ws.Close()
		if code := (&gw{t: t, ws: ws}).closed(); code != 4012 {
			t.Errorf("old version closed with %d; want 4012", code)
		}
	})
}
