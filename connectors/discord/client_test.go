package discord_test

import (
	"strings"
	"testing"

	"parley/connectors/connectortest"
	"parley/connectors/discord"
	"parley/connectors/discord/discordfake"
	"parley/internal/subtest"
)

// DR-31: errors name the server that was asked, not Discord's own address in place of it.
func TestErrorsNameTheServer(t *testing.T) {
	for name, fault := range map[string]discordfake.Fault{
		"refused":     discordfake.ErrorCode(404, 0, "Not Found"),
		"bad gateway": discordfake.Respond(502, nil, "<html>"),
		"cut":         discordfake.DropAfter(),
		"half":        discordfake.HalfBody(),
	} {
		t.Run(name, subtest.Plain(withBot, func(w *botHarness) {
			w.fake.Fault(discordfake.Match{Route: discordfake.GetMe}, fault)
			_, err := w.bot.Check(w.Context())
			if err == nil || !strings.Contains(err.Error(), "http://discord.test:80") || strings.Contains(err.Error(), "discord.com") {
				w.Errorf("said %v", err)
			}
		}))
	}
	t.Run("no connection", subtest.Plain(withBot, func(w *botHarness) {
		bot := discord.New(discord.Config{Token: token, APIURL: "http://unreachable.test"}, connectortest.Deps(w.net.Dial))
		_, err := bot.Check(w.Context())
		if err == nil || !strings.Contains(err.Error(), "http://unreachable.test") || strings.Contains(err.Error(), "discord.com") {
			w.Errorf("said %v", err)
		}
	}))
}
