package progressivetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/internal/require"
	"parley/progressive"
)

// Replicas returns the gates of n replicas with one account that no other gate uses.
type Replicas func(t *testing.T, n int, budget func(progressive.Scope) progressive.Budget) []progressive.Gate

// Gate tests what every [progressive.Gate] has to do, also across replicas. It needs no fake clock: nothing in it fails
// because something takes long.
func Gate(t *testing.T, replicas Replicas) {
	for name, test := range map[string]func(*testing.T, *gates){
		"one account":           oneAccount,
		"all scopes or none":    allOrNone,
		"unused":                unused,
		"kept for finals":       keptForFinals,
		"a reserve is left":     reserveIsLeft,
		"edits are spread":      editsAreSpread,
		"order":                 order,
		"no ticket starves":     noTicketStarves,
		"a final state passes":  finalPassesOlder,
		"a hold is for all":     holdForAll,
		"a hold ends":           holdEnds,
		"learned":               learned,
		"no window is exceeded": noWindowExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			g := &gates{T: t, table: map[progressive.Scope]progressive.Budget{}}
			g.all = replicas(t, 3, func(s progressive.Scope) progressive.Budget {
				g.mu.Lock()
				defer g.mu.Unlock()
				return g.table[s]
			})
			test(t, g)
		})
	}
}

// gates are three replicas.
type gates struct {
	*testing.T
	all []progressive.Gate

	mu    sync.Mutex
	table map[progressive.Scope]progressive.Budget
}

func (g *gates) budget(s progressive.Scope, n int, per time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.table[s] = progressive.Budget{N: n, Per: per}
}

// reserve sets a budget with a reserve.
func (g *gates) reserve(s progressive.Scope, n, reserve int, per time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.table[s] = progressive.Budget{N: n, Per: per, Reserve: reserve}
}

var errShut = errors.New("it waits")

// try reports whether there is a permit at replica i, and gives the way back.
func (g *gates) try(i int, p progressive.Priority, scopes ...progressive.Scope) (leave func(error), ok bool) {
	g.Helper()
	ctx, cancel := context.WithTimeoutCause(g.Context(), 100*time.Millisecond, errShut)
	defer cancel()
	leave, err := g.all[i].Enter(ctx, progressive.Ticket{Scopes: scopes, Priority: p})
	if err != nil && !errors.Is(err, errShut) {
		g.Fatal(err)
	}
	return leave, err == nil
}

// open enters at replica i, however long that takes, and leaves with err.
func (g *gates) open(i int, err error, scopes ...progressive.Scope) {
	g.Helper()
	leave := require.Value(g.all[i].Enter(g.Context(), progressive.Ticket{Scopes: scopes, Priority: progressive.PriorityFinal}))(g)
	leave(err)
}

func (g *gates) shut(i int, why string, scopes ...progressive.Scope) {
	g.Helper()
	if leave, ok := g.try(i, progressive.PriorityFinal, scopes...); ok {
		leave(nil)
		g.Errorf("replica %d: %s", i, why)
	}
}

func oneAccount(t *testing.T, g *gates) {
	g.budget("chat", 4, time.Hour)
	g.open(0, nil, "chat")
	g.open(1, errors.New("failures count too"), "chat")
	g.open(2, nil, "chat")
	leave, ok := g.try(0, progressive.PriorityFinal, "chat")
	if !ok {
		t.Fatal("the fourth permit is not to be had")
	}
	g.shut(1, "a permit in use was granted twice", "chat")
	leave(nil)
	for i := range g.all {
		g.shut(i, "five permits of four", "chat")
	}
	g.open(0, nil, "other")
	g.open(1, nil)
}

func allOrNone(t *testing.T, g *gates) {
	g.budget("a", 1, time.Hour)
	g.budget("b", 9, time.Hour)
	g.budget("bot", 3, time.Hour)
	g.open(0, nil, "a", "bot")
	for i := range g.all {
		g.shut(i, "the chat was spent", "a", "bot")
	}
	g.open(1, nil, "b", "bot")
	g.open(2, nil, "b", "bot") // those who were refused spent nothing
	for i := range g.all {
		g.shut(i, "the bot was spent", "b", "bot")
	}
	g.open(0, nil, "b")
}

func unused(t *testing.T, g *gates) {
	g.budget("chat", 1, time.Hour)
	for i := range g.all {
		g.open(i, progressive.ErrUnused, "chat")
	}
	g.open(0, nil, "chat")
	g.shut(1, "the permit was used", "chat")
}

func keptForFinals(t *testing.T, g *gates) {
	g.budget("chat", 4, time.Hour)
	for i := range 3 {
		leave, ok := g.try(i, progressive.PriorityStream, "chat")
		if !ok {
			t.Fatalf("edit %d waits", i)
		}
		leave(nil)
	}
	for i := range g.all {
		if leave, ok := g.try(i, progressive.PriorityStream, "chat"); ok {
			leave(nil)
			t.Errorf("replica %d: an edit got the permit that is kept for finals", i)
		}
		_, err := g.all[i].Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{"chat"}})
		if !errors.Is(err, progressive.ErrNoPermit) {
			t.Errorf("replica %d: a sign got %v", i, err)
		}
	}
	g.open(0, nil, "chat")
	g.shut(1, "the last permit was spent", "chat")
}

func holdForAll(t *testing.T, g *gates) {
	g.open(0, progressive.RetryAfter{Scope: "a", After: time.Hour}, "a", "bot")
	for i := range g.all {
		g.shut(i, "the chat is held", "a", "bot")
		g.open(i, nil, "b", "bot")
	}
	g.open(1, progressive.RetryAfter{Scope: "bot", After: time.Hour}, "b", "bot")
	for i := range g.all {
		g.shut(i, "the bot is held", "b", "bot")
		g.open(i, nil, "b")
	}
}

func holdEnds(t *testing.T, g *gates) {
	const hold = 300 * time.Millisecond
	begun := time.Now()
	g.open(0, fmt.Errorf("edit: %w", progressive.RetryAfter{After: hold}), "chat")
	g.open(1, nil, "chat")
	if d := time.Since(begun); d < hold {
		t.Errorf("open after %v of %v", d, hold)
	}
}

func learned(t *testing.T, g *gates) {
	g.budget("route", 50, time.Second)
	g.open(0, progressive.BudgetHint{Scope: "route", Left: 2, After: time.Hour}, "chat", "route")
	g.open(1, progressive.ErrUnused, "chat", "route")
	g.open(1, nil, "chat", "route")
	g.open(2, progressive.BudgetHint{Scope: "route", Left: 1, After: time.Hour}, "chat", "route")
	for i := range g.all {
		g.shut(i, "the platform has room for no more", "chat", "route")
		g.open(i, nil, "chat")
	}
	g.open(0, errors.Join(errors.New("failed"), progressive.BudgetHint{After: time.Hour}), "narrow", "wide")
	for i := range g.all {
		g.shut(i, "without a name it is the narrowest", "narrow")
		g.open(i, nil, "wide")
	}
}

// noWindowExceeded has many ask at once. The platform counts at any moment between Enter and leave.
func noWindowExceeded(t *testing.T, g *gates) {
	g.budget("bot", 10, 150*time.Millisecond)
	for c := range 6 {
		g.budget(progressive.Scope(fmt.Sprint("chat", c)), 2, 50*time.Millisecond)
	}
	var mu sync.Mutex
	at := map[progressive.Scope][]time.Time{}
	var all sync.WaitGroup
	for w := range 12 {
		all.Go(func() {
			chat := progressive.Scope(fmt.Sprint("chat", w/2))
			for n := range 8 {
				p := []progressive.Priority{progressive.PriorityStream, progressive.PriorityFirst, progressive.PriorityFinal}[(w+n)%3]
				leave, err := g.all[w%len(g.all)].Enter(t.Context(), progressive.Ticket{Scopes: []progressive.Scope{chat, "bot"}, Priority: p})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				at[chat], at["bot"] = append(at[chat], time.Now()), append(at["bot"], time.Now())
				mu.Unlock()
				leave(nil)
			}
		})
	}
	all.Wait()
	for s, times := range at {
		slices.SortFunc(times, time.Time.Compare)
		b := g.table[s]
		for i := b.N; i < len(times); i++ {
			if d := times[i].Sub(times[i-b.N]); d < b.Per {
				t.Errorf("%s: %d requests within %v", s, b.N+1, d)
			}
		}
	}
	if n := len(at["bot"]); n != 12*8 {
		t.Errorf("%d requests", n)
	}
}
