package discord_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/core/chat"
)

// Each session tells where the bot is. Where it was thrown out is told once; what Discord can't reach it has not left.
func TestServers(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.settle()
		before := len(w.Events())
		id := w.fake.AddGuild("Club")
		w.fake.RemoveBot(id, true)
		w.fake.RemoveBot(id, false)
		w.settle()
		want := []chat.Inbound{
			chat.Joined{World: chat.World{ID: chat.WorldID("discord/" + id), Connector: "discord", Name: "Club"}},
			chat.Left{World: chat.WorldID("discord/" + id)},
		}
		if before == 0 {
			t.Error("the session did not tell where the bot is")
		}
		if diff := cmp.Diff(want, w.Events()[before:]); diff != "" {
			t.Errorf("handed in (-want +got):\n%s", diff)
		}
	})
}
