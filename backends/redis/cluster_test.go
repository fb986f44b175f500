package redis

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"parley/backends/redis/redistest"
	"parley/core/chat"
)

// DI-03: a master of a cluster is away, and with it the slots of some rooms. A claim in any room can be used, and no call waits long for
// the server. When it is back, although empty, replicas learn of all claims. Nothing has to be restarted.
func TestClusterWithoutAMaster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	a, b := open(t, cluster.URL, Options{}), open(t, cluster.URL, Options{})
	held := map[chat.RoomID]context.Context{}
	for i := range 12 { // of which each master has some
		room := chat.RoomID(fmt.Sprint("room ", i))
		held[room] = claim(t, a, room, 1)
	}
	lost := cluster.Nodes[2]
	lost.Stop()
	failed := 0
	for room := range held {
		err := within(t, "claim", func() error {
			ctx, err := b.Tracker().Claim(t.Context(), "ada", room, 2)
			if ctx == nil || ctx.Err() != nil {
				t.Errorf("the claim of %s can't be used: %v", room, err)
			}
			return err
		})
		if errors.Is(err, chat.ErrSuperseded) || errors.Is(err, chat.ErrStopped) {
			t.Errorf("the claim of %s is refused: %v", room, err)
		} else if err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no room failed; want those of the stopped master to fail")
	}
	lost.Restart()
	for _, ctx := range held {
		cancelled(t, ctx, chat.ErrSuperseded)
	}
}
