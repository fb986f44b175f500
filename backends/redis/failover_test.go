package redis

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"parley/backends/redis/redistest"
	"parley/core/chat"
	"parley/core/relay"
	"parley/internal/require"
)

// DI-02: the master dies, and its replica takes over without the last writes. Held claims are published again, frames flow, and no
// replica needs a restart.
func TestFailover(t *testing.T) {
	s := redistest.StartSentinels(t)
	a, b := open(t, s.URL, Options{}), open(t, s.URL, Options{})
	held := claim(t, a, "room", 1)
	frames := require.Value(b.Bus().Subscribe(t.Context(), "room"))(t)
	s.Master.Stop()
	eventually(t, "a claim after the failover", func(ctx context.Context) error {
		_, err := b.Tracker().Claim(t.Context(), "ada", "room", 2)
		return err
	})
	cancelled(t, held, chat.ErrSuperseded)
	eventually(t, "a frame after the failover", func(ctx context.Context) error {
		if err := a.Bus().Publish(ctx, "room", relay.Frame{Run: "run"}); err != nil {
			return err
		}
		select {
		case <-frames:
			return nil
		default:
			return errors.New("nothing is heard yet")
		}
	})
}

// A name belongs to one store while gateways with that store run.
func TestNameBelongsToOneStore(t *testing.T) {
	for name, start := range topologies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := start(t)
			for i, step := range []struct {
				name, store string
				want        error
			}{
				{"shop", "a", nil},
				{"shop", "a", nil},
				{"shop", "b", ErrNameTaken},
				{"office", "b", nil},
				{"", "b", nil}, // without a name there is nothing to take
			} {
				b := open(t, url, Options{Name: step.name, Store: step.store})
				if err := b.Join(t.Context()); !errors.Is(err, step.want) || (err == nil) != (step.want == nil) {
					t.Errorf("step %d: %v, want %v", i, err, step.want)
				}
			}
		})
	}
}

// A name that could not be taken at the start is taken as soon as Redis is there; until then nothing is refused.
func TestNameAfterAnOutage(t *testing.T) {
	s := redistest.Start(t)
	s.Stop()
	b := open(t, s.URL(), Options{Name: "shop", Store: "a"})
	require.NoError(t, b.Join(t.Context()))
	s.Restart()
	other := open(t, s.URL(), Options{})
	eventually(t, "the name", func(ctx context.Context) error {
		if got := other.client.Get(ctx, "parley:shop:store").Val(); got != "a" {
			return fmt.Errorf("it belongs to %q", got)
		}
		return nil
	})
}

// Gateways with different stores never share a key, whatever their name.
func TestKeysOfStores(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{}, "parley:"},
		{Options{Store: "id"}, "parley:id:"},
		{Options{Name: "shop", Store: "id"}, "parley:shop:id:"},
	} {
		if got := tt.o.prefix(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.o, got, tt.want)
		}
	}
}
