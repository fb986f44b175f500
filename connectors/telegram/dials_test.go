package telegram

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/connectortest"
	"parley/internal/sections"
)

// A new connection costs a handshake. One is made for requests that follow each other, however long their responses are,
// and as many as the budget sends at the same time are kept.
func TestConnectionsAreReused(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		var dials atomic.Int64
		bot := New(Config{Token: sections.Secret(r.Token()), APIURL: "http://" + site}, connectortest.Deps(
			func(ctx context.Context, network, address string) (net.Conn, error) {
				dials.Add(1)
				return r.net.Dial(ctx, network, address)
			}))
		defer bot.Close() //nolint:errcheck // it has nothing to report
		all := r.strangers(60)
		for range 3 { // the response with these updates is longer than a buffer
			for _, u := range all {
				r.Say(u.room, u.who, "hello")
			}
		}
		r.run(bot)
		for range 5 {
			r.Say(all[0].room, all[0].who, "and now?")
			wait(time.Second)
		}
		if n := dials.Load(); n != 1 {
			t.Errorf("%d connections for polls; want 1", n)
		}
		dials.Store(0)
		for range 3 {
			for _, u := range all[:30] {
				go func() {
					s := newSink(bot, address{Chat: u.room.ID, Kind: private})
					if _, err := s.Typing(t.Context()); err != nil {
						t.Error(err)
					}
				}()
			}
			synctest.Wait()
			wait(2 * time.Second)
		}
		if n := dials.Load(); n > 30 {
			t.Errorf("%d connections for 30 requests at a time; want at most 30", n)
		}
	})
}
