package telegram

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/telegram/telegramfake"
	"parley/internal/sections"
)

// impatient makes the server answer every poll at once, for so many polls, with nothing.
func (r *botHarness) impatient(times int) {
	r.Fault(telegramfake.Fault{Method: "getUpdates", Times: times, Status: http.StatusOK, Body: `{"ok":true,"result":[]}`})
}

// polls returns the pauses between the polls since then.
func (r *botHarness) polls(since time.Time) (pauses []time.Duration) {
	var last time.Time
	for _, q := range r.Log() {
		if q.Method != "getUpdates" || q.At.Before(since) {
			continue
		}
		if !last.IsZero() {
			pauses = append(pauses, q.At.Sub(last))
		}
		last = q.At
	}
	return pauses
}

// TR-33: a server that does not wait for updates is asked more and more seldom, and what it then has is taken soon.
func TestPollHasAFloor(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		chat := r.AddPrivate(ada)
		r.impatient(-1)
		begun := time.Now()
		r.run(r.bot)
		wait(time.Minute)
		pauses := r.polls(begun)
		if len(pauses) < 25 || len(pauses) > 35 {
			t.Errorf("%d polls within a minute", len(pauses)+1)
		}
		for i, want := range []time.Duration{200, 400, 800, 1600, 2000, 2000} {
			if i >= len(pauses) || pauses[i] != want*time.Millisecond {
				t.Fatalf("the pauses are %v", pauses)
			}
		}
		r.ClearFaults()
		r.Say(chat, ada, "one")
		wait(2 * time.Second)
		r.want("one")
		r.impatient(2)
		heard := time.Now()
		r.Say(chat, ada, "two")
		wait(time.Second)
		if pauses := r.polls(heard); len(pauses) < 2 || pauses[0] != 200*time.Millisecond {
			t.Errorf("after an update the pauses are %v", pauses)
		}
	})
}

// TR-33: a poll that waited as long as it may ends the pauses; a server that works is never kept waiting.
func TestPollFloorEnds(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.impatient(4)
		r.run(r.bot)
		wait(10 * time.Minute)
		r.impatient(1)
		since := time.Now()
		wait(time.Minute)
		if pauses := r.polls(since); len(pauses) == 0 || pauses[0] != 200*time.Millisecond {
			t.Errorf("long after, the pauses are %v", pauses)
		}
		all := r.polls(time.Time{})
		for _, pause := range all[5 : len(all)-3] {
			if pause != pollTime {
				t.Errorf("the pauses are %v", all)
				break
			}
		}
	})
}

// TR-33: a server that tells confirmed updates again and again is no busier.
func TestPollFloorOfOldUpdates(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		chat := r.AddPrivate(ada)
		r.run(r.bot)
		r.Say(chat, ada, "one")
		wait(time.Second)
		r.Fault(telegramfake.Fault{
			Method: "getUpdates", Times: -1, Status: http.StatusOK, Body: `{"ok":true,"result":[{"update_id":7},{"update_id":6}]}`,
		})
		r.Say(chat, ada, "two")
		since := time.Now()
		wait(time.Minute)
		if n := len(r.polls(since)); n > 35 {
			t.Errorf("%d polls within a minute; want at most 35", n)
		}
	})
}

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

// Without a dialer of the program's own the environment's proxy counts (HTTPS_PROXY); with one it does not, since that reaches
// Telegram itself.
func TestProxy(t *testing.T) {
	if proxy(nil) == nil {
		t.Error("proxy(nil) is nil; want the proxy of the environment")
	}
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	var none func(*http.Request) (*url.URL, error)
	if p := proxy(dial); (p == nil) != (none == nil) {
		t.Error("proxy(dial) is not nil; want no proxy with a dialer")
	}
}
