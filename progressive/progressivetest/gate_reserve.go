package progressivetest

import (
	"errors"
	"testing"
	"time"

	"parley/internal/require"
	"parley/progressive"
)

// reserveIsLeft: of the last permits of a long window typing gets none, and each priority leaves some to those above it
// (TR-35).
func reserveIsLeft(t *testing.T, g *gates) {
	g.reserve("chat", 20, 4, time.Hour)
	for n := range 10 {
		g.open(n%len(g.all), nil, "chat")
	}
	for i := range g.all {
		_, err := g.all[i].Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"chat"}})
		if !errors.Is(err, progressive.ErrNoPermit) {
			t.Errorf("replica %d: with half of the window spent a sign got %v", i, err)
		}
	}
	for n := range 6 {
		g.open(n%len(g.all), nil, "chat")
	}
	for n, p := range []progressive.Priority{progressive.PriorityStatus, progressive.PriorityFirst, progressive.PriorityReply, progressive.PriorityFinal} {
		for i := range g.all {
			for below := progressive.PriorityStream; below < p; below++ {
				if leave, ok := g.try(i, below, "chat"); ok {
					leave(progressive.ErrUnused)
					t.Errorf("replica %d: priority %d got a permit that is kept for %d", i, below, p)
				}
			}
		}
		leave, ok := g.try(n%len(g.all), p, "chat")
		if !ok {
			t.Fatalf("priority %d waits with %d permits left", p, 4-n)
		}
		leave(nil)
	}
	g.shut(0, "twenty-one permits of twenty", "chat")
}

// editsAreSpread: what stream edits may have of a window they take evenly, and what others spend makes them fewer (TR-35).
func editsAreSpread(t *testing.T, g *gates) {
	const window = 4 * time.Second
	g.reserve("chat", 20, 4, window)
	edit := func(i int) time.Time {
		leave := require.Value(g.all[i%len(g.all)].Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"chat"}, Priority: progressive.PriorityStream}))(t)
		leave(nil)
		return time.Now()
	}
	begun := edit(0)
	last := edit(1)
	if d := last.Sub(begun); d < window/20 {
		t.Errorf("of a fresh window the second edit came after %v", d)
	}
	for i := range 11 {
		g.open(i%len(g.all), nil, "chat")
	}
	spent := time.Now()
	if d := edit(2).Sub(spent); spent.Sub(begun) < window/4 && d < window/8 {
		t.Errorf("of a window with three permits to spare the next edit came after %v", d)
	}
}
