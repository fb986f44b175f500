package discord_test

import (
	"testing"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord"
	"parley/sim"
)

func TestSuite(t *testing.T) {
	connectortest.Suite[*discordworld.World]{
		At:  "discord.test:80",
		New: discordworld.New,
		Connect: func(w *discordworld.World, net *sim.Net) connectortest.Bot {
			return discord.New(discord.Options{Token: w.Fake.Token(), APIURL: "http://discord.test", Dial: net.Dial})
		},
		Budgets: discord.Budgets(),
	}.Run(t)
}
