package progressivetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/internal/require"
	"parley/progressive"
)

// wish is a ticket whose text has waited for so long.
type wish struct {
	progressive.Priority
	waited time.Duration
	chat   progressive.Scope
}

// queued has all wishes wait at replica 0 for the bot's one permit, in this order, and says in which they were let in. A
// sign never waits.
func (g *gates) queued(wishes []wish) (in []wish) {
	g.Helper()
	g.budget("bot", 1, 10*time.Millisecond)
	leave := require.Value(g.all[0].Enter(g.Context(), progressive.Ticket{Scopes: []progressive.Scope{"chat/busy", "bot"}, Priority: progressive.PriorityFinal}))(g)
	now := time.Now()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, w := range wishes {
		all.Go(func() {
			t := progressive.Ticket{Scopes: []progressive.Scope{w.chat, "bot"}, Priority: w.Priority, UnshownSince: now.Add(-w.waited)}
			leave, err := g.all[0].Enter(g.Context(), t)
			if err != nil {
				g.Error(err)
				return
			}
			mu.Lock()
			in = append(in, w)
			mu.Unlock()
			leave(nil)
		})
	}
	g.shut(0, "the bot's permit is taken", "chat/last", "bot") // meanwhile all have begun to wait
	if _, err := g.all[0].Enter(g.Context(), progressive.Ticket{Scopes: []progressive.Scope{wishes[0].chat, "bot"}}); !errors.Is(err, progressive.ErrNoPermit) {
		g.Errorf("a sign got %v while others wait", err)
	}
	leave(nil)
	all.Wait()
	return in
}

// order: final, answer to a command, first text, status, edit; in one chat and between chats.
func order(_ *testing.T, g *gates) {
	for name, chats := range map[string]progressive.Priority{"in one chat": 1, "between chats": 9} {
		var want []wish
		for p := progressive.PriorityFinal; p > progressive.PriorityTyping; p-- {
			want = append(want, wish{p, 0, progressive.Scope(fmt.Sprint("chat/", p%chats))})
		}
		for _, asked := range [][]wish{want, {want[4], want[3], want[2], want[1], want[0]}, {want[2], want[4], want[0], want[3], want[1]}} {
			if got := g.queued(asked); !slices.Equal(got, want) {
				g.Errorf("%s: of %v the order is %v; want %v", name, asked, got, want)
			}
		}
	}
}

// finalPassesOlder: in one chat all others wait for a final state, also those that have waited for longer, and in a scope without a reserve.
func finalPassesOlder(_ *testing.T, g *gates) {
	older, final := wish{progressive.PriorityReply, 10 * time.Minute, "chat/0"}, wish{progressive.PriorityFinal, 0, "chat/0"}
	if got, want := g.queued([]wish{older, final}), []wish{final, older}; !slices.Equal(got, want) {
		g.Errorf("the order is %v; want %v", got, want)
	}
}

// noTicketStarves: a ticket that has waited for minutes goes before all new ones, in any chat.
func noTicketStarves(_ *testing.T, g *gates) {
	var want []wish
	for i, p := range []progressive.Priority{progressive.PriorityStream, progressive.PriorityStatus, progressive.PriorityFirst, progressive.PriorityReply} {
		want = append(want, wish{p, 10*time.Minute - time.Duration(i)*2*time.Minute, progressive.Scope(fmt.Sprint("chat/", i))})
	}
	for n := range 3 {
		want = append(want, wish{progressive.PriorityFinal, -time.Duration(n) * time.Second, progressive.Scope(fmt.Sprint("chat/new", n))})
	}
	asked := slices.Clone(want)
	slices.Reverse(asked)
	if got := g.queued(asked); !slices.Equal(got, want) {
		g.Errorf("of %v the order is %v; want %v", asked, got, want)
	}
}
