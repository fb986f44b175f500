package connectors

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/core/chat"
	"parley/internal/contain"
	"parley/internal/rest"
)

// Shards divides the connection of a bot among the processes with the same store. Its parts are numbered from 0, and
// each is held by one process at a time, with a lease of its own: that of shard 0 has the connector's name, that of
// shard 3 is NAME/3. A connector that uses it implements [Sharded].
//
// There is no leader. Every process reads about once a second who holds what. It takes shards that no process holds,
// which also replaces a dead holder once its leases have ended. A process that finds none, and another process with at
// least two more than its own, asks for one by the lease NAME/waits; the process with the most then gives one back. So
// the processes end with numbers that differ by at most one, and nothing moves after that.
type Shards struct {
	all         Leases // nil if no other process can use the store
	memo        StateStore
	name, owner string
	log         *slog.Logger
}

// ShardWork serves one shard until ctx is done, and then returns nil. Its writes to state are refused once another
// process holds the shard. Another return ends all shards of the process.
type ShardWork func(ctx context.Context, shard int, state StateStore) error

// Sharded is implemented by connectors that run in every process, and are therefore not wrapped with a [Lease]: they
// divide their work by [Deps].Shards, or the platform does.
type Sharded interface {
	Connector
	// Sharded reports whether they do.
	Sharded() bool
}

// NewShards returns the shards of a connector. Owner names this process. If all is nil, no other process can use the
// store, and this one holds all shards.
func NewShards(all Leases, memo StateStore, name, owner string, log *slog.Logger) *Shards {
	return &Shards{all: all, memo: memo, name: name, owner: owner, log: log}
}

// Memo returns the state that all processes share. Unlike that of a shard, it accepts writes of every process.
func (s *Shards) Memo() StateStore { return s.memo }

// Several reports whether other processes can hold shards.
func (s *Shards) Several() bool { return s.all != nil }

// Run calls work for each of n shards while this process holds it, each in a goroutine of its own, until ctx is done.
// It returns the first error of work. When it returns, all calls of work have returned, and their leases are given back.
func (s *Shards) Run(ctx context.Context, n int, work ShardWork) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &sharding{Shards: s, n: n, work: work, held: map[int]*shard{}, ended: make(chan shardEnd, n)}
	var next <-chan time.Time
	if s.all == nil {
		for i := range n {
			r.start(ctx, i, func(ctx context.Context) error { return work(ctx, i, s.memo) })
		}
	} else {
		next = time.After(0)
	}
	var failed error
	done := ctx.Done()
	for done != nil || len(r.held) > 0 {
		select {
		case end := <-r.ended:
			delete(r.held, end.shard)
			if end.err != nil && failed == nil {
				failed = end.err
				stop()
			}
		case <-next:
			r.look(ctx)
			next = time.After(leaseRetry/2 + rand.N(leaseRetry))
		case <-done:
			done, next = nil, nil
		}
	}
	r.stopWaiting(ctx)
	return failed
}

// Hold reserves a name for this process for at most ttl, or until [Shards.Release], and waits while another process has
// it. It is for short work that only one process may do at a time. Within the process, calls with one name must not
// overlap. An error is that of the store, or of ctx.
func (s *Shards) Hold(ctx context.Context, name string, ttl time.Duration) error {
	for s.all != nil {
		_, err := s.all.Lease(ctx, s.name+"/"+name, s.owner, ttl)
		if !errors.Is(err, chat.ErrBusy) {
			return err
		}
		if err := rest.For(ctx, leaseRetry/4+rand.N(leaseRetry/4)); err != nil {
			return err
		}
	}
	return nil
}

// Release ends a reservation. A failure is not reported: the reservation ends by itself.
func (s *Shards) Release(ctx context.Context, name string) {
	if s.all == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseRetry)
	defer cancel()
	_ = s.all.EndLease(ctx, s.name+"/"+name, s.owner)
}

// waits is the lease of a process that has too few shards.
const waits = "waits"

// sharding is one call of [Shards.Run]. All its fields belong to that goroutine.
type sharding struct {
	*Shards
	n       int
	work    ShardWork
	held    map[int]*shard
	ended   chan shardEnd // has room for all shards, so that no end waits for a look
	waiting bool          // this process has the lease to wait
	failing bool          // the last look has failed
}

// shard is one that this process holds.
type shard struct {
	stop   context.CancelFunc
	giving bool // it was stopped, so that another process can take it
}

// shardEnd is the end of a shard's work.
type shardEnd struct {
	shard int
	err   error
}

// start runs work for a shard in a goroutine, which ends with a value in r.ended. A panic becomes an error.
func (r *sharding) start(ctx context.Context, i int, work func(context.Context) error) {
	ctx, stop := context.WithCancel(ctx)
	r.held[i] = &shard{stop: stop}
	go func() {
		defer stop()
		r.ended <- shardEnd{i, contain.Call("a shard of the connector", func() error { return work(ctx) })}
	}()
}

// look compares who holds what, and takes a shard, asks for one or gives one back. Of repeated failures only the first
// is logged.
func (r *sharding) look(ctx context.Context) {
	reading, cancel := context.WithTimeout(ctx, leaseRenew)
	defer cancel()
	leases, err := r.all.Held(reading, r.name)
	if err != nil {
		if ctx.Err() == nil && !r.failing {
			r.log.Warn("can't read who holds the shards; trying again", "connector", r.name, "err", err)
		}
		r.failing = true
		return
	}
	r.failing = false
	p := r.plan(leases)
	if p.give >= 0 {
		r.held[p.give].giving = true
		r.held[p.give].stop()
		r.log.Info("another process has fewer shards; it takes one of this process", "connector", r.name, "shard", p.give)
	}
	for _, i := range p.free {
		if p.take == 0 {
			break
		}
		if r.take(ctx, i) {
			p.take--
		}
	}
	switch {
	case p.wait:
		_, err := r.all.Lease(reading, r.name+"/"+waits, r.owner, leaseRenew)
		r.waiting = err == nil // otherwise another process waits, or the store has failed: it is tried at the next look
	case r.waiting:
		r.stopWaiting(ctx)
	}
}

// stopWaiting gives the lease to wait back, so that another process can have it.
func (r *sharding) stopWaiting(ctx context.Context) {
	if r.waiting {
		r.waiting = false
		r.Release(ctx, waits)
	}
}

// take starts a shard if its lease can be had. Otherwise another process was quicker.
func (r *sharding) take(ctx context.Context, i int) bool {
	l := NewLease(r.all, r.lease(i), r.owner, r.log)
	ends, err := l.extend(ctx)
	if err != nil {
		if !errors.Is(err, chat.ErrBusy) && ctx.Err() == nil {
			r.log.Warn("can't take a shard; trying again", "connector", r.name, "shard", i, "err", err)
		}
		return false
	}
	r.log.Info("this process now holds a shard", "connector", r.name, "shard", i)
	r.start(ctx, i, func(ctx context.Context) error {
		err := l.during(ctx, ends, func(ctx context.Context) error { return r.work(ctx, i, l.State(r.memo)) })
		if errors.Is(err, errLost) {
			return nil
		}
		return err
	})
	return true
}

// lease returns the name of a shard's lease. That of the first is the connector's own, which earlier versions held for
// the whole connection: during an upgrade, a process of either version excludes the other.
func (r *sharding) lease(i int) string {
	if i == 0 {
		return r.name
	}
	return r.name + "/" + strconv.Itoa(i)
}

// shardPlan is a process's decision after a look at the leases.
type shardPlan struct {
	free []int // shards that no process holds
	take int   // how many of them to take
	wait bool  // to ask for one
	give int   // a shard to give back, or -1
}

// plan decides from the leases that have not ended.
func (r *sharding) plan(leases map[string]string) shardPlan {
	p, counts := shardPlan{give: -1}, map[string]int{r.owner: len(r.held)}
	for i := range r.n {
		owner := leases[r.lease(i)]
		switch {
		case r.held[i] != nil:
		case owner == "" || owner == r.owner:
			p.free = append(p.free, i)
		default:
			counts[owner]++
		}
	}
	mine, waiter := len(r.held), leases[r.name+"/"+waits]
	if waiter == r.owner {
		waiter = ""
	}
	fewer := waiter != "" && counts[waiter] < mine
	switch {
	case len(p.free) > 0 && fewer: // they are for the process that waits
	case len(p.free) > 0 && mine == 0:
		p.take = 1 // others that start at the same time see this one before it takes more
	case len(p.free) > 0:
		p.take = (len(p.free) + len(counts) - 1) / len(counts)
	default:
		p.wait = slices.Max(slices.Collect(maps.Values(counts))) >= mine+2
		if fewer && mine >= counts[waiter]+2 && r.gives(counts) {
			p.give = r.last()
		}
	}
	return p
}

// gives reports whether this process is the one to give a shard back: the one with the most, and of several the first
// by name. It gives one at a time.
func (r *sharding) gives(counts map[string]int) bool {
	for _, s := range r.held {
		if s.giving {
			return false
		}
	}
	for owner, n := range counts {
		if n > len(r.held) || n == len(r.held) && strings.Compare(owner, r.owner) < 0 {
			return false
		}
	}
	return true
}

// last returns the highest shard of this process, which has one at least.
func (r *sharding) last() int {
	return slices.Max(slices.Collect(maps.Keys(r.held)))
}
