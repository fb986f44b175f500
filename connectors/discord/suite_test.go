package discord_test

import (
	"testing"

	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord"
	"parley/internal/sections"
	"parley/sim"
)

// defaults is the configuration of a bot of which nothing is set.
func defaults() discord.Config { return configtest.Defaults[discord.Config](discord.Section()) }

func TestSuite(t *testing.T) {
	connectortest.Suite[*discordworld.Platform]{
		At:  "discord.test:80",
		New: discordworld.New,
		Connect: func(w *discordworld.Platform, net *sim.Net) connectortest.Bot {
			return discord.New(discord.Config{Token: sections.Secret(w.Fake.Token()), APIURL: "http://discord.test"}, connectortest.Deps(net.Dial))
		},
		Budgets: new(defaults()).Budgets(),
	}.Run(t)
}
