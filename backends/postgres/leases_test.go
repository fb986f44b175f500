package postgres

import (
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"parley/core/chat"
	"parley/core/storage/storagetest"
	"parley/internal/require"
)

// DI-08: one of several processes holds a lease, until it gives it back or does not extend it in time.
func TestLeases(t *testing.T) {
	url := fresh(t)
	a, b := open(t, url, Options{Several: true}), open(t, url, Options{Several: true})
	const ttl = time.Minute
	lease := func(s *Store, owner string, ttl time.Duration) (int64, error) {
		return s.Lease(t.Context(), "telegram", owner, ttl)
	}
	first := require.Value(lease(a, "a", ttl))(t)
	if _, err := lease(b, "b", ttl); !errors.Is(err, chat.ErrBusy) {
		t.Errorf("a second holder: %v", err)
	}
	if again, err := lease(a, "a", ttl); err != nil || again != first {
		t.Errorf("extended: token %d, %v, want %d", again, err, first)
	}
	require.NoError(t, b.EndLease(t.Context(), "telegram", "b"))
	if _, err := lease(b, "b", ttl); !errors.Is(err, chat.ErrBusy) {
		t.Errorf("given back by another process: %v", err)
	}
	fleet, err := b.Replicas(t.Context())
	if err != nil || len(fleet.Leases) != 1 || fleet.Leases[0].Name != "telegram" || fleet.Leases[0].Owner != "a" || !fleet.Leases[0].Ends.After(time.Now()) {
		t.Errorf("listed: %+v, %v", fleet, err)
	}
	require.NoError(t, a.EndLease(t.Context(), "telegram", "a"))
	if fleet, err := b.Replicas(t.Context()); err != nil || len(fleet.Leases) != 0 {
		t.Errorf("listed after its end: %+v, %v", fleet, err)
	}
	second, err := lease(b, "b", time.Millisecond)
	if err != nil || second <= first {
		t.Errorf("given back: token %d, %v, after %d", second, err, first)
	}
	time.Sleep(10 * time.Millisecond)
	if third, err := lease(b, "b", ttl); err != nil || third <= second {
		t.Errorf("taken again after its end: token %d, %v, after %d", third, err, second)
	}
}

// The holders of a connector's shards are listed without those of other names, of ended leases and of those that were given back.
func TestHoldersOfShardsAreListed(t *testing.T) {
	url := fresh(t)
	a, b := open(t, url, Options{Several: true}), open(t, url, Options{Several: true})
	for name, owner := range map[string]string{"discord": "a", "discord/1": "b", "discord/2": "a", "discord%": "a", "discordant": "a", "telegram": "b"} {
		require.Value(a.Lease(t.Context(), name, owner, time.Minute))(t)
	}
	require.NoError(t, b.EndLease(t.Context(), "discord/2", "a"))
	require.Value(b.Lease(t.Context(), "discord/3", "b", 0))(t)
	held, err := b.Held(t.Context(), "discord")
	if want := map[string]string{"discord": "a", "discord/1": "b"}; err != nil || !maps.Equal(held, want) {
		t.Errorf("held: %v, %v, want %v", held, err, want)
	}
	if held, err := b.Held(t.Context(), "signal"); err != nil || len(held) > 0 {
		t.Errorf("held by no process: %v, %v", held, err)
	}
}

// Many ask at once, one receives.
func TestLeaseRace(t *testing.T) {
	url := fresh(t)
	stores := []*Store{open(t, url, Options{Several: true}), open(t, url, Options{Several: true})}
	var mu sync.Mutex
	var all sync.WaitGroup
	var holders []string
	for n := range 16 {
		all.Go(func() {
			owner := string(rune('a' + n))
			_, err := stores[n%2].Lease(t.Context(), "discord", owner, time.Minute)
			if err != nil && !errors.Is(err, chat.ErrBusy) {
				t.Error(err)
			}
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				holders = append(holders, owner)
			}
		})
	}
	all.Wait()
	if len(holders) != 1 {
		t.Errorf("%q hold the lease; want 1", holders)
	}
}

// DI-01: a former holder writes nothing.
func TestKeepUnder(t *testing.T) {
	url := fresh(t)
	s := open(t, url, Options{Several: true})
	ctx := t.Context()
	if err := s.KeepUnder(ctx, "telegram", 1, "telegram/offset", "1"); !errors.Is(err, chat.ErrBusy) {
		t.Errorf("without a lease: %v", err)
	}
	old := require.Value(s.Lease(ctx, "telegram", "a", 0))(t)
	if err := s.KeepUnder(ctx, "telegram", old, "telegram/offset", "1"); err != nil {
		t.Errorf("the lease has expired, but no other owner took it: %v", err)
	}
	token := require.Value(s.Lease(ctx, "telegram", "b", time.Minute))(t)
	require.NoError(t, s.KeepUnder(ctx, "telegram", token, "telegram/offset", "2"))
	if err := s.KeepUnder(ctx, "telegram", old, "telegram/offset", "1"); !errors.Is(err, chat.ErrBusy) {
		t.Errorf("under the former lease: %v", err)
	}
	if got, err := s.Kept(ctx, "telegram/offset"); err != nil || got != "2" {
		t.Errorf(`kept is %q, %v; want "2"`, got, err)
	}
}

func TestSwap(t *testing.T) { storagetest.Kept(t, open(t, fresh(t), Options{})) }
