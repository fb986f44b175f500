package telegram_test

import (
	"testing"

	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/telegram"
	"parley/internal/sections"
	"parley/sim"
)

func TestSuite(t *testing.T) {
	connectortest.Suite[*telegramworld.Platform]{
		At:  "telegram.test:80",
		New: telegramworld.New,
		Connect: func(w *telegramworld.Platform, net *sim.Net) connectortest.Bot {
			return telegram.New(telegram.Config{Token: sections.Secret(w.Fake.Token()), APIURL: "http://telegram.test"}, connectortest.Deps(net.Dial))
		},
		Budgets: new(configtest.Defaults[telegram.Config](telegram.Section())).Budgets(),
	}.Run(t)
}
