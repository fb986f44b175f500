package connectors_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/core/chat"
)

// leases are those of a store that can fall silent.
type leases struct {
	connectortest.Leases
	silent atomic.Bool // the owner "a" gets no answer
}

func (s *leases) Lease(ctx context.Context, name, owner string, ttl time.Duration) (int64, error) {
	if owner == "a" && s.silent.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.Leases.Lease(ctx, name, owner, ttl)
}

// cut separates processes from the store, or ends that.
func (s *leases) cut(down bool, owners ...string) {
	for _, owner := range owners {
		s.Cut(owner, down)
	}
}

// bot counts how many of its kind run.
type bot struct {
	name string

	mu      *sync.Mutex
	running *map[string]bool
	most    *int
}

func (b bot) Name() string { return "chat" }

func (b bot) Run(ctx context.Context, _ connectors.Handler) error {
	b.mu.Lock()
	(*b.running)[b.name] = true
	*b.most = max(*b.most, len(*b.running))
	b.mu.Unlock()
	<-ctx.Done()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(*b.running, b.name)
	return nil
}

// replicas are processes with a connector of the same name.
type replicas struct {
	t     *testing.T
	store *leases
	bots  bot
	ends  map[string]func()
	held  map[string]*connectors.Lease
}

func inReplicas(t *testing.T, f func(r *replicas)) {
	synctest.Test(t, func(t *testing.T) {
		r := &replicas{
			t: t, store: &leases{}, ends: map[string]func(){}, held: map[string]*connectors.Lease{},
			bots: bot{mu: new(sync.Mutex), running: &map[string]bool{}, most: new(int)},
		}
		f(r)
		for _, end := range r.ends {
			end()
		}
		if *r.bots.most > 1 {
			t.Errorf("%d processes received messages at once; want at most 1", *r.bots.most)
		}
	})
}

func (r *replicas) start(name string) {
	ctx, cancel := context.WithCancel(r.t.Context())
	lease := connectors.NewLease(r.store, "chat", name, slog.New(slog.DiscardHandler))
	c := r.bots
	c.name = name
	done := make(chan error, 1)
	go func() { done <- lease.Wrap(c).Run(ctx, nil) }()
	r.held[name] = lease
	r.ends[name] = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
}

func (r *replicas) want(name string) {
	r.t.Helper()
	synctest.Wait()
	r.bots.mu.Lock()
	defer r.bots.mu.Unlock()
	if all := *r.bots.running; len(all) != 1 && name != "" || name != "" && !all[name] || name == "" && len(all) > 0 {
		r.t.Errorf("%v runs, want %q", all, name)
	}
}

// DI-08: who holds the lease runs, and gives it up at its end.
func TestLeaseMovesAtTheEnd(t *testing.T) {
	inReplicas(t, func(r *replicas) {
		r.start("a")
		r.want("a")
		r.start("b")
		time.Sleep(time.Hour)
		r.want("a")
		r.ends["a"]()
		time.Sleep(2 * time.Second)
		r.want("b")
	})
}

// DI-01: a holder that can't reach the store ends before others can take its place, and takes it back when all can.
func TestLeaseMovesFromAHolderThatIsCutOff(t *testing.T) {
	inReplicas(t, func(r *replicas) {
		r.start("a")
		r.want("a")
		r.start("b")
		time.Sleep(time.Minute)
		r.store.cut(true, "a")
		time.Sleep(17 * time.Second)
		r.want("b")
		r.store.cut(false, "a")
		time.Sleep(time.Minute)
		r.want("b")
	})
}

// A store that gives no answer at all to the holder does not keep it running either.
func TestLeaseMovesFromAHolderThatHearsNothing(t *testing.T) {
	inReplicas(t, func(r *replicas) {
		r.start("a")
		r.want("a")
		r.start("b")
		r.store.silent.Store(true)
		time.Sleep(17 * time.Second)
		r.want("b")
	})
}

// A short outage of the store interrupts nothing. After a long one the holder has stopped, because another process could have the lease.
func TestLeaseWithoutAStore(t *testing.T) {
	inReplicas(t, func(r *replicas) {
		r.start("a")
		r.want("a")
		r.start("b")
		r.store.cut(true, "a", "b")
		time.Sleep(7 * time.Second)
		r.want("a")
		r.store.cut(false, "a", "b")
		time.Sleep(10 * time.Second)
		r.want("a")
		r.store.cut(true, "a", "b")
		time.Sleep(time.Minute)
		r.want("")
		r.store.cut(false, "a", "b")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(*r.bots.running); n != 1 {
			t.Errorf("%d run after the outage; want 1", n)
		}
	})
}

// DI-01: what a former holder writes late is refused.
func TestLeaseFencesState(t *testing.T) {
	inReplicas(t, func(r *replicas) {
		r.start("a")
		r.want("a")
		old := r.held["a"].State(&r.store.Memory)
		if err := old.Keep(t.Context(), "chat/offset", "1"); err != nil {
			t.Error(err)
		}
		r.start("b")
		r.store.cut(true, "a")
		time.Sleep(20 * time.Second)
		r.want("b")
		if err := r.held["b"].State(&r.store.Memory).Keep(t.Context(), "chat/offset", "2"); err != nil {
			t.Error(err)
		}
		if err := old.Keep(t.Context(), "chat/offset", "1"); !errors.Is(err, chat.ErrBusy) {
			t.Errorf("a late write: %v", err)
		}
		if got, err := old.Kept(t.Context(), "chat/offset"); err != nil || got != "2" {
			t.Errorf(`kept is %q, %v; want "2"`, got, err)
		}
	})
}
