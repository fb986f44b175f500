package postgres

import (
	"context"
	"hash/fnv"
	"slices"

	"parley/backends/sqlstore"
)

// scope is the set of advisory locks that a transaction takes when it begins. The writes to one room have the room's
// lock, so all replicas make them in one order, and rows of the room that a transaction has read can't change until it
// commits. A nil scope takes none: a statement that is atomic by itself needs none.
type scope []int64

// keyOf returns the number of a lock. Replicas of different versions must agree on it, so it never changes. Two names
// with the same hash only wait for each other without need.
func keyOf(class, id string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(class + "\x00" + id))
	return int64(h.Sum64())
}

// scopeOf returns the locks of ids. They are sorted, so that two transactions that need the same ones can't wait for
// each other.
func scopeOf[T ~string](class string, ids ...T) scope {
	var all scope
	for _, id := range ids {
		all = append(all, keyOf(class, string(id)))
	}
	slices.Sort(all) // always taken in this order
	return slices.Compact(all)
}

// scopeFor returns the locks of a change.
func scopeFor(on []sqlstore.Lock) scope {
	var all scope
	for _, l := range on {
		all = append(all, keyOf(l.Class, l.ID))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func roomScope[T ~string](room T) scope { return scopeOf("room", room) }

// turns are locks within this process, in 256 stripes. Calls that need the same advisory lock wait here before they
// take a connection, so a busy room holds up one connection and not all of the pool. Stripes bound the memory;
// unrelated rooms that share one rarely wait for each other.
type turns []chan struct{}

func newTurns() turns {
	all := make(turns, 256)
	for i := range all {
		all[i] = make(chan struct{}, 1)
	}
	return all
}

// take waits for all stripes of on, in order, and returns the function that releases them. If ctx ends first it holds
// none.
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
