package postgres

import (
	"context"
	"hash/fnv"
	"slices"
	"strings"

	"parley/core/chat"
)

// scope is what a transaction locks before it begins: what concerns one room is written in one order on all replicas.
type scope []int64

// keyOf is how replicas of all versions call the same lock.
func keyOf(class, id string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(class + "\x00" + id))
	return int64(h.Sum64())
}

func scopeOf[T ~string](class string, ids ...T) scope {
	var all scope
	for _, id := range ids {
		all = append(all, keyOf(class, string(id)))
	}
	slices.Sort(all) // no two wait for each other
	return slices.Compact(all)
}

func roomScope[T ~string](room T) scope { return scopeOf("room", room) }

// turns has the calls of this process wait for each other before they take a connection, which others can use meanwhile.
type turns []chan struct{}

func newTurns() turns {
	all := make(turns, 256)
	for i := range all {
		all[i] = make(chan struct{}, 1)
	}
	return all
}

// take waits for all of on, and returns how to let them go.
func (t turns) take(ctx context.Context, on scope) (free func(), err error) {
	var stripes []int
	for _, key := range on {
		stripes = append(stripes, int(uint64(key)%uint64(len(t))))
	}
	slices.Sort(stripes)
	stripes = slices.Compact(stripes)
	for n, i := range stripes {
		select {
		case t[i] <- struct{}{}:
		case <-ctx.Done():
			t.free(stripes[:n])
			return nil, context.Cause(ctx)
		}
	}
	return func() { t.free(stripes) }, nil
}

func (t turns) free(stripes []int) {
	for _, i := range stripes {
		<-t[i]
	}
}

// roomOf returns the room of a run, see [record.RunID].
func roomOf(run chat.RunID) string {
	room := string(run)
	return room[:max(strings.LastIndexByte(room, '#'), 0)]
}
