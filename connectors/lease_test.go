package connectors_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/core/chat"
)

// leases are those of a store with one clock.
type leases struct {
	connectortest.Memory

	mu     sync.Mutex
	holder string
	token  int64
	until  time.Time
	down   map[string]bool // owners who can't reach the store; "" is all
	silent time.Duration   // the owner "a" gets its answers so late
}

var errDown = errors.New("the store is down")

func (s *leases) reach(owner string) error {
	if s.down[""] || s.down[owner] {
		return errDown
	}
	return nil
}

func (s *leases) Lease(_ context.Context, _, owner string, ttl time.Duration) (int64, error) {
	s.mu.Lock()
	if late := s.silent; owner == "a" && late > 0 {
		s.mu.Unlock()
		time.Sleep(late)
		return 0, errDown
	}
	defer s.mu.Unlock()
	alive := time.Now().Before(s.until)
	switch {
	case s.reach(owner) != nil:
		return 0, errDown
	case alive && s.holder != owner:
		return 0, chat.ErrBusy
	case !alive || s.holder != owner:
		s.token++
	}
	s.holder, s.until = owner, time.Now().Add(ttl)
	return s.token, nil
}

func (s *leases) EndLease(_ context.Context, _, owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reach(owner); err != nil {
		return err
	}
	if s.holder == owner {
		s.until = time.Now()
	}
	return nil
}

func (s *leases) Held(context.Context, string) (map[string]string, error) {
	return nil, errors.New("a single lease asks for no list")
}

func (s *leases) KeepUnder(ctx context.Context, _ string, token int64, name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token != s.token {
		return chat.ErrBusy
	}
	return s.Keep(ctx, name, value)
}

func (s *leases) cut(owner string, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down == nil {
		s.down = map[string]bool{}
	}
	s.down[owner] = down
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
			t.Errorf("%d processes received messages at once", *r.bots.most)
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
		r.store.cut("a", true)
		time.Sleep(17 * time.Second)
		r.want("b")
		r.store.cut("a", false)
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
		r.store.mu.Lock()
		r.store.silent = time.Hour
		r.store.mu.Unlock()
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
		r.store.cut("", true)
		time.Sleep(7 * time.Second)
		r.want("a")
		r.store.cut("", false)
		time.Sleep(10 * time.Second)
		r.want("a")
		r.store.cut("", true)
		time.Sleep(time.Minute)
		r.want("")
		r.store.cut("", false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(*r.bots.running); n != 1 {
			t.Errorf("%d run after the outage", n)
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
		r.store.cut("a", true)
		time.Sleep(20 * time.Second)
		r.want("b")
		if err := r.held["b"].State(&r.store.Memory).Keep(t.Context(), "chat/offset", "2"); err != nil {
			t.Error(err)
		}
		if err := old.Keep(t.Context(), "chat/offset", "1"); !errors.Is(err, chat.ErrBusy) {
			t.Errorf("a late write: %v", err)
		}
		if got, err := old.Kept(t.Context(), "chat/offset"); err != nil || got != "2" {
			t.Errorf("kept is %q, %v", got, err)
		}
	})
}
