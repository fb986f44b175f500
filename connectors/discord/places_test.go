package discord_test

import (
	"net/url"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/core/chat"
	"parley/internal/require"
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

// The README's third step: the log of a bot that has just been made prints the link that invites it to a server.
func TestInvitationIsLogged(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.settle()
		found := regexp.MustCompile(`link="?(https://discord\.com/oauth2/authorize\?[^\s"]+)`).FindStringSubmatch(w.log.String())
		if found == nil {
			t.Fatalf("no link in %s", w.log.String())
		}
		link := require.Value(url.Parse(found[1]))(t)
		q := link.Query()
		if q.Get("client_id") == "" || q.Get("scope") != "bot applications.commands" || q.Get("permissions") == "" || q.Get("permissions") == "0" {
			t.Errorf("the link is %s", link)
		}
	})
}
