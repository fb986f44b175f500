//go:build linux

package bench

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley"
	"parley/backends"
	"parley/backends/sqlite"
	"parley/config"
	"parley/config/configtest"
	"parley/connectors/telegram"
	"parley/core/event"
)

// What a question on Telegram and its answer cost in the database at most: a question of a known person in a known chat,
// with daily limits, answered in one message.
const (
	mostCommits    = 9
	mostStatements = 36 // without those that begin and end transactions: 34, and 2.4 if the words of the messages are indexed meanwhile
)

// TestTurnStatements counts the statements and the commits of a turn, for one chat that asks one question after the other.
func TestTurnStatements(t *testing.T) {
	const turns = 10
	s, count := newStage(t, 1), &statements{all: map[string]int{}, ended: make(chan bool, 100)}
	env := parley.Env{
		Observers: []event.Observer{count},
		OpenStore: func(ctx context.Context, address string, _ backends.Options) (backends.Store, error) {
			return sqlite.Open(ctx, backends.Path(address), sqlite.Options{Trace: count.add})
		},
	}
	gatewayIn(t, env, "", s.model, func(c *config.Config) {
		on := configtest.Section[telegram.Config](c.Connectors)
		on.Token, on.APIURL, on.Limits.PrivateEdits, on.Limits.PerSecond = config.Secret(s.fake.Token()), s.url, loadEdits, 100_000
		c.Access.Direct = "open"
		many := new(int(1e9))
		c.Limits.Person.Messages, c.Limits.Person.Tokens, c.Limits.Total.Tokens = many, many, many
	})
	for n := range turns + 1 {
		if n == 1 {
			count.reset()
		}
		if _, err := s.ask(0, fmt.Sprint("instant question ", n)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-count.ended:
		case <-time.After(time.Minute):
			t.Fatal("a run has not ended within a minute; want its end")
		}
	}
	commits, others := count.sum()
	t.Logf("a turn has %.1f commits and %.1f statements:\n%s", float64(commits)/turns, float64(others)/turns, count.table(turns))
	if commits/turns > mostCommits || others/turns > mostStatements { // what is done now and then is rounded off
		t.Errorf("%.1f commits and %.1f statements in a turn", float64(commits)/turns, float64(others)/turns)
	}
}

// statements counts statements, and tells when a run has ended.
type statements struct {
	ended chan bool

	mu  sync.Mutex
	all map[string]int
}

// Observe implements [event.Observer].
func (s *statements) Observe(e event.Event) {
	if _, ok := e.(event.RunEnded); ok {
		s.ended <- true
	}
}

func (s *statements) add(statement string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[strings.Join(strings.Fields(statement), " ")]++
}

func (s *statements) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.all)
}

// sum returns the commits, and the statements that are not about transactions.
func (s *statements) sum() (commits, others int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for text, n := range s.all {
		switch first, _, _ := strings.Cut(text, " "); first {
		case "COMMIT":
			commits += n
		case "BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK":
		default:
			others += n
		}
	}
	return commits, others
}

func (s *statements) table(turns int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, text := range slices.SortedFunc(maps.Keys(s.all), func(a, b string) int {
		return cmp.Or(s.all[b]-s.all[a], strings.Compare(a, b))
	}) {
		fmt.Fprintf(&b, "%6.1f  %.140s\n", float64(s.all[text])/float64(turns), text)
	}
	return b.String()
}
