package discord_test

import (
	"net/url"
	"parley/internal/require"
	"regexp"
	"testing"
)

// The README's third step: the log of a bot that has just been made prints the link that invites it to a server.
func TestInvitationIsLogged(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		w.settle()
		found := regexp.MustCompile(`link="?(https://discord\.com/oauth2/authorize\?[^\s"]+)`).FindStringSubmatch(w.log.String())
		if found == nil {
			t.Fatalf("no link in %s", w.log.String())
		}
		link, err := url.Parse(found[1])
		require.NoError(t, err)
		q := link.Query()
		if q.Get("client_id") == "" || q.Get("scope") != "bot applications.commands" || q.Get("permissions") == "" || q.Get("permissions") == "0" {
			t.Errorf("the link is %s", link)
		}
	})
}
