package redis

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"parley/backends/inmem"
	"parley/backends/redis/redistest"
	"parley/core/chat"
	"parley/internal/require"
)

func rawClient(t testing.TB, s *redistest.Server) goredis.UniversalClient {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr, DisableIdentity: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestScripts(t *testing.T) {
	const top = math.MaxUint64
	tests := []struct {
		name   string
		before inmem.Marks
		script *goredis.Script
		turn   chat.ResponseID
		want   inmem.Marks
		told   bool
	}{
		{"first claim", inmem.Marks{}, claimScript, 1, inmem.Marks{Latest: 1}, true},
		{"later claim", inmem.Marks{Latest: 9}, claimScript, 10, inmem.Marks{Latest: 10}, true},
		{"same claim", inmem.Marks{Latest: 10}, claimScript, 10, inmem.Marks{Latest: 10}, false},
		{"late claim", inmem.Marks{Latest: 10}, claimScript, 9, inmem.Marks{Latest: 10}, false},
		{"claim of a stopped turn", inmem.Marks{Latest: 3, Stopped: 10}, claimScript, 10, inmem.Marks{Latest: 3, Stopped: 10}, false},
		{"claim after a stop", inmem.Marks{Latest: 3, Stopped: 9}, claimScript, 10, inmem.Marks{Latest: 10, Stopped: 9}, true},
		{"claim above doubles", inmem.Marks{Latest: 1 << 53}, claimScript, 1<<53 + 1, inmem.Marks{Latest: 1<<53 + 1}, true},
		{"late claim above doubles", inmem.Marks{Latest: 1<<53 + 1}, claimScript, 1 << 53, inmem.Marks{Latest: 1<<53 + 1}, false},
		{"last claim of all", inmem.Marks{Latest: top - 1}, claimScript, top, inmem.Marks{Latest: top}, true},
		{"first stop", inmem.Marks{}, stopScript, 5, inmem.Marks{Stopped: 5}, true},
		{"later stop", inmem.Marks{Latest: 7, Stopped: 99}, stopScript, 100, inmem.Marks{Latest: 7, Stopped: 100}, true},
		{"same stop", inmem.Marks{Stopped: 5}, stopScript, 5, inmem.Marks{Stopped: 5}, false},
		{"old stop", inmem.Marks{Stopped: 5}, stopScript, 4, inmem.Marks{Stopped: 5}, false},
		{"stop above doubles", inmem.Marks{Stopped: top - 1}, stopScript, top, inmem.Marks{Stopped: top}, true},
		{"settle of nothing", inmem.Marks{}, settleScript, 5, inmem.Marks{}, false},
		{"settle", inmem.Marks{Latest: top, Stopped: 4}, settleScript, 5, inmem.Marks{Latest: top, Stopped: 4}, false},
	}
	c := rawClient(t, redistest.Start(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := layout{prefix: tt.name + ":", ttl: inmem.Remembered}
			p := place{"ada", "room"}
			given(t, c, at, p, tt.before)
			told := c.Subscribe(t.Context(), at.turnsChannel())
			defer told.Close()
			require.Value(told.Receive(t.Context()))(t)
			got, err := at.run(t.Context(), c, request{tt.script, p, tt.turn})
			if err != nil || got != tt.want {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
			again, err := at.run(t.Context(), c, request{settleScript, p, tt.turn})
			if err != nil || again != tt.want {
				t.Errorf("kept %v, %v, want %v", again, err, tt.want)
			}
			if n := c.Publish(t.Context(), at.turnsChannel(), "end").Val(); n != 1 {
				t.Fatalf("%d listeners; want 1", n)
			}
			msg, err := told.ReceiveMessage(t.Context())
			if err != nil || (msg.Payload != "end") != tt.told {
				t.Errorf("told %v, %v, want %v", msg, err, tt.told)
			}
			if ttl := c.PTTL(t.Context(), at.marksKey(p)).Val(); tt.want != (inmem.Marks{}) && ttl < inmem.Remembered-time.Minute {
				t.Errorf("the marks live for %v", ttl)
			}
		})
	}
}

// given writes marks as the scripts do, about to expire.
func given(t *testing.T, c goredis.UniversalClient, at layout, p place, m inmem.Marks) {
	t.Helper()
	soon := layout{at.prefix, time.Hour}
	for _, q := range []request{{claimScript, p, m.Latest}, {stopScript, p, m.Stopped}} {
		require.Value(soon.run(t.Context(), c, q))(t)
	}
}

// However many race, no script lowers a mark.
func TestScriptsRace(t *testing.T) {
	c := rawClient(t, redistest.Start(t))
	at := layout{prefix: "race:", ttl: inmem.Remembered}
	const workers, turns = 32, 50
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var seen inmem.Marks
			for i := range turns {
				q := request{claimScript, place{"ada", "room"}, chat.ResponseID(1<<53 + (i*workers+w*7)%(workers*turns))}
				if i%5 == 4 {
					q.script, q.turn = stopScript, chat.ResponseID(i)
				}
				m, err := at.run(context.Background(), c, q)
				if err != nil {
					t.Error(err)
					return
				}
				if m != m.Raised(seen) || m != m.Raised(q.mark()) {
					t.Errorf("after %v and %v: %v", seen, q.mark(), m)
				}
				seen = m
			}
		})
	}
	wg.Wait()
}

func TestMarksKeysAreApart(t *testing.T) {
	at := layout{prefix: "parley:"}
	if got, want := at.marksKey(place{"ada", "telegram/1/2"}), "parley:{ada/telegram/1/2}:turn"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if at.marksKey(place{"a/b", "c"}) == at.marksKey(place{"a", "b/c"}) {
		t.Error("two places share a key")
	}
}
