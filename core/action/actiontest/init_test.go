package actiontest

import (
	"context"
	"errors"
	"testing"

	"parley/core/action"
	"parley/core/chat"
	"parley/internal/require"
)

// A plugin finds after a restart what it has kept, and says once what it says with the same key in the same room.
func TestHost(t *testing.T) {
	var found []string
	plugin := action.Plugin{Name: "bell", Init: func(ctx context.Context, s action.Services) error {
		kept, err := s.State.Kept(ctx, "rings")
		found = append(found, kept)
		for _, n := range []chat.Notice{
			{To: chat.Address{Room: "hall"}, Key: "ring"}, {To: chat.Address{Room: "yard"}, Key: "ring"}, {To: chat.Address{Room: "hall"}},
		} {
			_, failed := s.Say(ctx, n)
			err = errors.Join(err, failed)
		}
		s.Log.Info("the bell is ready")
		return errors.Join(err, s.State.Keep(ctx, "rings", kept+"I"))
	}}
	var host Host
	for range 2 {
		require.NoError(t, host.Init(t, plugin))
	}
	if len(found) != 2 || found[0] != "" || found[1] != "I" {
		t.Errorf("it finds %q", found)
	}
	if said := host.Said(); len(said) != 4 {
		t.Errorf("%d notices: %+v; want 4", len(said), said)
	}
	broken := errors.New("no bell")
	if err := host.Init(t, action.Plugin{Init: func(context.Context, action.Services) error { return broken }}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if err := host.Init(t, action.Plugin{}); err != nil {
		t.Errorf("a plugin without Init: %v", err)
	}
}
