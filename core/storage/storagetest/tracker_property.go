package storagetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"parley/core"
	"parley/core/chat"

	"pgregory.net/rapid"
)

// allAtOnce has everybody claim behind one barrier: one turn is left.
func allAtOnce(t *testing.T, r replicas) {
	const turns = 64
	var ops []turnOp
	for i := range turns {
		ops = append(ops, turnOp{replica: i, id: chat.ResponseID(turns - i)})
	}
	race(t, r, "room", ops, turns)
}

// anyInterleaving has claims and stops in any order, one after the other and all at once.
func anyInterleaving(t *testing.T, r replicas) {
	var rooms atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) turnOp {
			return turnOp{
				replica: rapid.IntRange(0, len(r)-1).Draw(rt, "replica"),
				id:      chat.ResponseID(rapid.IntRange(1, 12).Draw(rt, "turn")),
				stop:    rapid.IntRange(0, 4).Draw(rt, "kind") == 0,
			}
		}), 1, 24).Draw(rt, "ops")
		workers := rapid.SampledFrom([]int{1, 4}).Draw(rt, "workers")
		room := chat.RoomID(fmt.Sprintf("room/%d", rooms.Add(1)))
		race(rt, r, room, ops, workers)
	})
}

type turnOp struct {
	replica int
	id      chat.ResponseID
	stop    bool
}

// fataler is what *testing.T and *rapid.T have in common here.
type fataler interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// race lets the workers do the ops and then checks that exactly the greatest unstopped turn is left.
func race(t fataler, r replicas, room chat.RoomID, ops []turnOp, workers int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	claims := make([]context.Context, len(ops))
	errs := make([]error, len(ops))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			<-start
			for i := w; i < len(ops); i += workers {
				claims[i], errs[i] = perform(ctx, r.at(ops[i].replica), room, ops[i])
			}
		})
	}
	close(start)
	wg.Wait()
	for i, err := range errs {
		if err != nil && !errors.Is(err, chat.ErrSuperseded) && !errors.Is(err, chat.ErrStopped) {
			t.Fatalf("%+v: %v", ops[i], err)
		}
	}
	verify(t, r, room, ops, claims)
}

func perform(ctx context.Context, tr core.Tracker, room chat.RoomID, o turnOp) (context.Context, error) {
	if o.stop {
		return nil, tr.Stop(ctx, agent, room, o.id)
	}
	return tr.Claim(ctx, agent, room, o.id)
}

func verify(t fataler, r replicas, room chat.RoomID, ops []turnOp, claims []context.Context) {
	t.Helper()
	latest, stopped := greatest(ops)
	verdict := func(id chat.ResponseID) error {
		switch {
		case id <= stopped:
			return chat.ErrStopped
		case id < latest:
			return chat.ErrSuperseded
		}
		return nil
	}
	for i, ctx := range claims {
		if ctx == nil || verdict(ops[i].id) == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-patient():
			t.Fatalf("turn %d still runs; want it cancelled, with %d the latest and all stopped up to %d", ops[i].id, latest, stopped)
		}
		// Which of the two came first is anybody's guess; that it was one of them is not.
		if cause := context.Cause(ctx); !errors.Is(cause, chat.ErrSuperseded) && !errors.Is(cause, chat.ErrStopped) {
			t.Errorf("turn %d was cancelled because %v; want superseded or stopped", ops[i].id, cause)
		}
	}
	for i, o := range ops {
		want := verdict(o.id)
		if !o.stop && want == nil && (claims[i] == nil || claims[i].Err() != nil) {
			t.Errorf("turn %d was refused or cancelled; want the latest turn to run", o.id)
		}
		for n, tr := range r {
			if err := tr.Settle(context.Background(), agent, room, o.id); !errors.Is(err, want) {
				t.Errorf("replica %d: settle %d: got %v, want %v", n, o.id, err, want)
			}
		}
	}
}

func greatest(ops []turnOp) (latest, stopped chat.ResponseID) {
	for _, o := range ops {
		if o.stop {
			stopped = max(stopped, o.id)
		} else {
			latest = max(latest, o.id)
		}
	}
	return latest, stopped
}
