package telegram_test

import (
	"testing"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/telegram"
	"parley/progressive"
	"parley/sim"
)

func TestSuite(t *testing.T) {
	connectortest.Suite{New: func(t *testing.T, net *sim.Net) connectortest.Platform {
		w, err := telegramworld.New()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "telegram.test:80")
		if err != nil {
			t.Fatal(err)
		}
		connectortest.Serve(t, l, w.Handler())
		return platform{w, net}
	}}.Run(t)
}

type platform struct {
	*telegramworld.World
	net *sim.Net
}

func (p platform) Connect() connectortest.Bot {
	return telegram.New(telegram.Options{Token: p.Fake.Token(), APIURL: "http://telegram.test", Dial: p.net.Dial})
}

func (p platform) Budgets() map[string]progressive.Budget { return telegram.Budgets() }
