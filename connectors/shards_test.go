package connectors_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/subtest"
)

// division is processes that share shards.
type division struct {
	*testing.T
	store connectortest.Leases
	n     int
	ends  map[string]func() error

	mu    sync.Mutex
	runs  map[string]map[int]bool // the shards that run, by process
	moves int                     // starts of a shard
	twice int                     // a shard was started while another process ran it
	work  connectors.ShardWork    // nil waits for its end
}

func inDivision(t *testing.T, n int, tell func(d *division)) {
	synctest.Test(t, func(t *testing.T) {
		d := &division{T: t, n: n, ends: map[string]func() error{}, runs: map[string]map[int]bool{}}
		tell(d)
		for _, name := range slices.Collect(maps.Keys(d.ends)) {
			d.end(name)
		}
		if d.twice > 0 {
			t.Errorf("%d times a shard ran in two processes; want none", d.twice)
		}
	})
}

func (d *division) start(name string) {
	ctx, cancel := context.WithCancel(d.Context())
	d.mu.Lock()
	d.runs[name] = map[int]bool{}
	d.mu.Unlock()
	s := connectors.NewShards(&d.store, &d.store, "chat", name, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() {
		done <- s.Run(ctx, d.n, func(ctx context.Context, shard int, state connectors.StateStore) error {
			return d.shard(ctx, name, shard, state)
		})
	}()
	d.ends[name] = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
}

func (d *division) shard(ctx context.Context, name string, shard int, state connectors.StateStore) error {
	d.mu.Lock()
	for _, runs := range d.runs {
		if runs[shard] {
			d.twice++
		}
	}
	d.runs[name][shard] = true
	d.moves++
	work := d.work
	d.mu.Unlock()
	var err error
	if work != nil {
		err = work(ctx, shard, state)
	} else {
		<-ctx.Done()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.runs[name], shard)
	return err
}

func (d *division) end(name string) {
	d.Helper()
	end := d.ends[name]
	delete(d.ends, name)
	if err := end(); err != nil {
		d.Error(err)
	}
}

// counts are how many shards each process runs, the most first.
func (d *division) counts() (counts []int) {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.ends {
		counts = append(counts, len(d.runs[name]))
	}
	slices.Sort(counts)
	slices.Reverse(counts)
	return counts
}

func (d *division) want(counts ...int) {
	d.Helper()
	if got := d.counts(); !slices.Equal(got, counts) {
		d.Errorf("the processes run %v shards, want %v", got, counts)
	}
}

// steady wants that no shard moves any more.
func (d *division) steady() {
	d.Helper()
	synctest.Wait()
	before := d.moves
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	if d.moves != before {
		d.Errorf("%d shards moved in five quiet minutes", d.moves-before)
	}
}

// Several processes end with numbers of shards that differ by at most one, whenever they start, and then nothing moves.
func TestShardsAreDividedEvenly(t *testing.T) {
	for n, want := range map[int][][]int{
		1:  {{1}, {1, 0}, {1, 0, 0}, {1, 0, 0, 0}},
		4:  {{4}, {2, 2}, {2, 1, 1}, {1, 1, 1, 1}},
		16: {{16}, {8, 8}, {6, 5, 5}, {4, 4, 4, 4}},
	} {
		t.Run(fmt.Sprint(n, " shards, one process after the other"), subtest.With(inDivision, n, func(d *division) {
			for i, counts := range want {
				d.start(string(rune('a' + i)))
				time.Sleep(time.Minute)
				d.want(counts...)
				d.steady()
			}
		}))
		t.Run(fmt.Sprint(n, " shards, all processes at once"), subtest.With(inDivision, n, func(d *division) {
			for i := range 4 {
				d.start(string(rune('a' + i)))
			}
			time.Sleep(time.Minute)
			d.want(want[3]...)
			d.steady()
		}))
	}
}

// DI-08: the shards of a process that ends are taken at once, those of one that dies when its leases have ended.
func TestShardsAreTakenOver(t *testing.T) {
	inDivision(t, 8, func(d *division) {
		d.start("a")
		d.start("b")
		d.start("c")
		time.Sleep(time.Minute)
		d.want(3, 3, 2)
		d.end("a")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if held, err := d.store.Held(t.Context(), "chat"); err != nil || len(held) < 8 {
			t.Errorf("held 2 s after a process has ended: %v, %v; want at least 8", held, err)
		}
		time.Sleep(20 * time.Second) // one may move once more, to the other process
		d.want(4, 4)
		d.store.Cut("b", true)
		time.Sleep(17 * time.Second)
		d.want(8, 0)
		d.store.Cut("b", false)
		time.Sleep(time.Minute)
		d.want(4, 4)
		d.steady()
	})
}

// A process alone, without a store that others can use, has all shards at once.
func TestShardsOfOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := connectors.NewShards(nil, &connectortest.Memory{}, "chat", "a", slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan int, 4)
		done := make(chan error, 1)
		go func() {
			done <- s.Run(ctx, 4, func(ctx context.Context, shard int, _ connectors.StateStore) error {
				started <- shard
				<-ctx.Done()
				return nil
			})
		}()
		synctest.Wait()
		if len(started) != 4 || s.Several() {
			t.Errorf("%d shards run", len(started))
		}
		require.NoError(t, s.Hold(ctx, "login/0", time.Hour))
		s.Release(ctx, "login/0")
		cancel()
		require.NoError(t, <-done)
	})
}

// One failed shard ends all of the process, and gives their leases back; a panic is such a failure.
func TestShardsFailTogether(t *testing.T) {
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("the shard is broken") },
		"a panic":  func() error { panic("the shard is broken") },
	} {
		t.Run(name, func(t *testing.T) {
			inDivision(t, 4, func(d *division) {
				d.work = func(ctx context.Context, shard int, _ connectors.StateStore) error {
					if shard == 2 {
						time.Sleep(time.Minute)
						return fail()
					}
					<-ctx.Done()
					return nil
				}
				d.start("a")
				time.Sleep(2 * time.Minute)
				end := d.ends["a"]
				delete(d.ends, "a")
				if err := end(); err == nil || !strings.Contains(err.Error(), "the shard is broken") {
					t.Errorf("Run returns %v", err)
				}
				if held, err := d.store.Held(t.Context(), "chat"); err != nil || len(held) > 0 {
					t.Errorf("held afterwards: %v, %v; want none", held, err)
				}
			})
		})
	}
}

// DI-01: what a process writes late about a shard that another one has is refused; about its other shards it is not.
func TestShardsFenceState(t *testing.T) {
	inDivision(t, 2, func(d *division) {
		states := make(chan connectors.StateStore, 10)
		d.work = func(ctx context.Context, _ int, state connectors.StateStore) error {
			states <- state
			<-ctx.Done()
			return nil
		}
		d.start("a")
		time.Sleep(10 * time.Second)
		first, second := <-states, <-states
		d.start("b")
		time.Sleep(time.Minute)
		d.want(1, 1)
		moved := <-states
		if err := moved.Keep(t.Context(), "chat/1", "new"); err != nil {
			t.Error(err)
		}
		if err := second.Keep(t.Context(), "chat/1", "old"); !errors.Is(err, chat.ErrBusy) {
			t.Errorf("a late write: %v", err)
		}
		if err := first.Keep(t.Context(), "chat/0", "kept"); err != nil {
			t.Error(err)
		}
	})
}

// A store that is away takes no shard from a process for a moment, and gives them back afterwards.
func TestShardsWithoutAStore(t *testing.T) {
	inDivision(t, 4, func(d *division) {
		d.start("a")
		time.Sleep(time.Minute)
		d.store.Cut("a", true)
		time.Sleep(7 * time.Second)
		d.want(4)
		time.Sleep(time.Minute)
		d.want(0)
		d.store.Cut("a", false)
		time.Sleep(5 * time.Second)
		d.want(4)
	})
}

// Only one process at a time holds a reservation, until it is released or has ended.
func TestShardsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store connectortest.Leases
		shards := func(owner string) *connectors.Shards {
			return connectors.NewShards(&store, &store, "chat", owner, slog.New(slog.DiscardHandler))
		}
		a, b := shards("a"), shards("b")
		hold := func(s *connectors.Shards, least, most time.Duration) {
			t.Helper()
			begun := time.Now()
			if err := s.Hold(t.Context(), "login/0", 5*time.Second); err != nil {
				t.Error(err)
			}
			if waited := time.Since(begun); waited < least || waited > most {
				t.Errorf("waited %v", waited)
			}
		}
		hold(a, 0, 0)
		hold(b, 5*time.Second, 6*time.Second)
		b.Release(t.Context(), "login/0")
		hold(a, 0, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Hold(ctx, "login/0", time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait that is cancelled: %v", err)
		}
		store.Cut("b", true)
		if err := b.Hold(t.Context(), "login/0", time.Second); !errors.Is(err, connectortest.ErrDown) {
			t.Errorf("without a store: %v", err)
		}
	})
}
