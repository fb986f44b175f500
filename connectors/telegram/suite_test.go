package telegram_test

import (
	"testing"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/telegram"
	"parley/sim"
)

func TestSuite(t *testing.T) {
	connectortest.Suite[*telegramworld.World]{
		At:  "telegram.test:80",
		New: telegramworld.New,
		Connect: func(w *telegramworld.World, net *sim.Net) connectortest.Bot {
			return telegram.New(telegram.Options{Token: w.Fake.Token(), APIURL: "http://telegram.test", Dial: net.Dial})
		},
		Budgets: telegram.Budgets(),
	}.Run(t)
}
