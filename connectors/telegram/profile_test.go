package telegram

import (
	"strings"
	"testing"
	"time"

	"parley/config/configtest"
	"parley/internal/lang"
	"parley/internal/require"
)

// The menu and the profile are set once, again after a change, and left alone where nothing is configured.
func TestProfileIsSetOnce(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		start := func(description, about string) *Telegram {
			bot := r.another()
			bot.config.Description, bot.config.ShortDescription = description, about
			stop := r.run(bot)
			wait(time.Second)
			if err := stop(); err != nil {
				t.Error(err)
			}
			return bot
		}
		want := func(commands, descriptions, abouts int) {
			t.Helper()
			got := [3]int{r.count("setMyCommands"), r.count("setMyDescription"), r.count("setMyShortDescription")}
			if got != [3]int{commands, descriptions, abouts} {
				t.Errorf("set %v times", got)
			}
		}
		start("", "")
		lists := 2 * len(lang.Tags())
		want(lists, 0, 0)
		start("Ask me", "A helper")
		start("Ask me", "A helper")
		want(lists, 1, 1)
		start("Ask me anything", "")
		want(lists, 2, 1)
		var now map[string]string
		bot := start("", "")
		if err := bot.client.call(t.Context(), "getMyDescription", nil, &now); err != nil || now["description"] != "Ask me anything" {
			t.Errorf("the description is %q, %v", now["description"], err)
		}
		var done bool
		require.NoError(t, bot.client.call(t.Context(), "setMyCommands", map[string]string{"commands": `[{"command":"old","description":"Old"}]`}, &done))
		start("", "")
		want(lists+2, 2, 1) // with the one above
	})
}

func TestLongDescriptions(t *testing.T) {
	for _, c := range []struct {
		description, about int
		wrong              string
	}{{512, 120, ""}, {513, 120, "description"}, {512, 121, "short_description"}} {
		config := new(configtest.Defaults[Config](Section()))
		config.Description, config.ShortDescription = strings.Repeat("é", c.description), strings.Repeat("é", c.about)
		var wrong string
		config.Check(func(key, _, _ string) { wrong += key })
		if wrong != c.wrong {
			t.Errorf("with %d and %d characters wrong is %q; want %q", c.description, c.about, wrong, c.wrong)
		}
	}
}
