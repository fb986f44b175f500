package mcp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/action"
	"parley/internal/subtest"
)

// A call waits for a server that is being started, or was just lost, and no longer than a start takes.
func TestAwaitServer(t *testing.T) {
	for name, c := range map[string]struct {
		call, params string
		connects     time.Duration // 0: never
		stops        time.Duration // 0: never
		reached      bool
		waited       time.Duration
	}{
		"a server that starts":             {"shop__order", `{}`, 5 * time.Second, 0, true, 5 * time.Second},
		"one that never starts":            {"Shop__order", `{}`, 0, 0, false, startLimit},
		"the turn is stopped":              {"shop__order", `{}`, 0, 3 * time.Second, false, 3 * time.Second},
		"called through another action":    {"CALL_MCP_TOOL", `{"serverName":"SHOP ","toolName":"order"}`, 5 * time.Second, 0, true, 5 * time.Second},
		"an action of another plugin":      {"REMIND", `{}`, 0, 0, true, 0},
		"a server with a longer name":      {"shopping__order", `{}`, 0, 0, true, 0},
		"a server that can't be used here": {"hidden__order", `{}`, 0, 0, true, 0},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			no := func(action.TurnContext) bool { return false }
			p := New(Options{Servers: []Server{{Name: "shop"}, {Name: "hidden", Available: no}}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			start := time.Now()
			if c.stops > 0 {
				time.AfterFunc(c.stops, cancel)
			}
			if c.connects > 0 {
				time.AfterFunc(c.connects, func() { shopOf(p).set(state{session: &sdk.ClientSession{}}) })
			}
			err := p.Await(ctx, action.TurnContext{}, c.call, []byte(c.params))
			if (err == nil) != c.reached || time.Since(start) != c.waited {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		}))
	}
}

// shopOf returns the first client of a plugin.
func shopOf(p action.Plugin) *client { return p.Providers[0].(provider).p.clients[0] }

// Attempts that fail do not prolong the wait; the loss of a connection begins it again.
func TestAwaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Servers: []Server{{Name: "shop"}}})
		c := shopOf(p)
		await := func() error { return p.Await(t.Context(), action.TurnContext{}, "shop__order", nil) }
		go func() {
			for range 100 {
				time.Sleep(time.Second)
				c.set(state{err: context.DeadlineExceeded})
			}
		}()
		start := time.Now()
		if err := await(); err == nil || time.Since(start) != startLimit {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if err := await(); err == nil || time.Since(start) != startLimit {
			t.Errorf("once more: %v after %v", err, time.Since(start))
		}
		time.Sleep(time.Minute * 2)
		c.set(state{session: &sdk.ClientSession{}})
		c.set(state{err: context.DeadlineExceeded})
		time.AfterFunc(time.Second, func() { c.set(state{session: &sdk.ClientSession{}}) })
		if err := await(); err != nil {
			t.Errorf("after a loss: %v", err)
		}
	})
}

// While the gateway starts, an answer waits a moment for the servers: until each was tried once, whatever came of that.
func TestAnswerWaitsForStartingServers(t *testing.T) {
	for name, c := range map[string]struct {
		tried  time.Duration // 0: never
		fails  bool
		begins time.Duration // of the answer
		waited time.Duration
	}{
		"a server that starts":  {3 * time.Second, false, 0, 3 * time.Second},
		"one that fails":        {3 * time.Second, true, time.Second, 2 * time.Second},
		"one that never starts": {0, false, 4 * time.Second, startWait - 4*time.Second},
		"later":                 {3 * time.Second, false, time.Minute, 0},
		"later, without it":     {0, false, time.Minute, 0},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			p := New(Options{Servers: []Server{{Name: "shop"}}})
			if c.tried > 0 {
				s := state{session: &sdk.ClientSession{}}
				if c.fails {
					s = state{err: errSlow}
				}
				time.AfterFunc(c.tried, func() { shopOf(p).set(s) })
			}
			time.Sleep(c.begins)
			begun := time.Now()
			if p.Starting(t.Context()); time.Since(begun) != c.waited {
				t.Errorf("it waited %v, want %v", time.Since(begun), c.waited)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			p.Starting(ctx)
			if time.Since(begun) != c.waited {
				t.Error("a stopped turn waited for the servers; want it to return at once")
			}
		}))
	}
}
