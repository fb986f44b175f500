package connectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"parley/core/chat"
	"parley/internal/rest"
)

const (
	leaseFor   = 15 * time.Second
	leaseRenew = 5 * time.Second
	// leaseRetry is the pause of a process that waits for the lease or could not extend it, and the time limit of
	// giving it back.
	leaseRetry = time.Second
	// A holder that can't extend its lease ends so long before others can take it. That is the time that it has for
	// closing its connection.
	leaseGuard = 2 * time.Second
)

// errLost ends a connector whose lease could not be extended in time.
var errLost = errors.New("the lease could not be extended in time")

// Leases stores named leases. One of several processes with the same store can hold a name. The clock of the store
// decides when a lease ends, so clocks of processes may differ. Implementations are safe for concurrent use.
type Leases interface {
	// Lease gives name to owner until ttl from now, or extends it. The token of a new holder is higher than all before,
	// and stays the same when the lease is extended. It fails with [chat.ErrBusy] while another owner holds the name.
	Lease(ctx context.Context, name, owner string, ttl time.Duration) (token int64, err error)
	// EndLease gives name back before its time. It has no effect for an owner that does not hold it. After an error,
	// the lease ends at its time.
	EndLease(ctx context.Context, name, owner string) error
	// Held returns the owners of the leases that have not ended, by name: of the lease with the name, and of those
	// whose names begin with it and a slash. Its errors are those of the store.
	Held(ctx context.Context, name string) (map[string]string, error)
	// KeepUnder is [StateStore].Keep for the holder of a lease. It fails with [chat.ErrBusy] unless token is that of
	// the latest holder; the comparison and the write are one transaction.
	KeepUnder(ctx context.Context, lease string, token int64, name, value string) error
}

// Lease makes a connector run in one process at a time. With two connections of one bot, Telegram would refuse one of
// them, and Discord would send every event to both. The lease has the connector's name, and is extended while the
// connector runs.
//
// A process that was paused may believe that it still holds a lease that has ended. Two things limit the harm: a timer
// on its own clock cancels the connector before the end, and its late writes are refused by their token. Messages that
// it delivers twice are recognized by their ids.
type Lease struct {
	all         Leases
	name, owner string
	log         *slog.Logger

	mu    sync.Mutex
	token int64 // of the time that this process held the lease last
}

// NewLease returns the lease of a connector. Owner names this process. It is nil if all is nil: then no other process can use the store,
// and a nil lease is always held.
func NewLease(all Leases, name, owner string, log *slog.Logger) *Lease {
	if all == nil {
		return nil
	}
	return &Lease{all: all, name: name, owner: owner, log: log}
}

// State returns memo, with writes that fail with [chat.ErrBusy] once another process holds the lease: late writes of a
// paused process must not replace those of its successor. Otherwise the stored position could go back, or even forward
// past messages that were never accepted.
func (l *Lease) State(memo StateStore) StateStore {
	if l == nil {
		return memo
	}
	return leasedState{memo, l}
}

// leasedState reads like the StateStore, and writes with the token of the lease.
type leasedState struct {
	StateStore
	lease *Lease
}

// Keep implements [StateStore]. It fails with [chat.ErrBusy] once another process holds the lease.
func (s leasedState) Keep(ctx context.Context, name, value string) error {
	s.lease.mu.Lock()
	token := s.lease.token
	s.lease.mu.Unlock()
	return s.lease.all.KeepUnder(ctx, s.lease.name, token, name, value)
}

// Wrap returns a connector that runs c while this process holds the lease, and waits otherwise. Its Run returns what
// that of c returns; a lost lease is no error, and the process then waits for it again. A [Sharded] connector takes
// leases itself, and is returned as it is.
func (l *Lease) Wrap(c Connector) Connector {
	if s, ok := c.(Sharded); l == nil || ok && s.Sharded() {
		return c
	}
	return leased{c, l}
}

type leased struct {
	Connector
	lease *Lease
}

// Run implements [Connector].
func (c leased) Run(ctx context.Context, h Handler) error {
	for {
		ends, ok := c.lease.take(ctx)
		if !ok {
			return nil
		}
		err := c.lease.during(ctx, ends, func(ctx context.Context) error { return c.Connector.Run(ctx, h) })
		if !errors.Is(err, errLost) {
			return err
		}
	}
}

// take waits until this process has the lease, and returns when it has to end. It is not ok when ctx is done. Of
// repeated failures only the first is logged. The pause is random, so that several waiting processes don't ask at the
// same moments.
func (l *Lease) take(ctx context.Context) (ends time.Time, ok bool) {
	failing := false
	for waited := false; ; waited = true {
		ends, err := l.extend(ctx)
		switch {
		case err == nil:
			if waited {
				l.log.Info("this process now receives the platform's messages", "connector", l.name)
			}
			return ends, true
		case errors.Is(err, chat.ErrBusy):
			if !waited {
				l.log.Info("another process receives the platform's messages; this one stands by", "connector", l.name)
			}
			failing = false
		case ctx.Err() == nil && !failing:
			failing = true
			l.log.Warn("can't ask for the platform's lease; trying again", "connector", l.name, "err", err)
		}
		if rest.For(ctx, leaseRetry/2+rand.N(leaseRetry)) != nil {
			return time.Time{}, false
		}
	}
}

// extend takes or extends the lease, and returns when this process has to end unless it is extended again.
func (l *Lease) extend(ctx context.Context) (ends time.Time, err error) {
	// Taken before the request: the store counts from some later moment, so this process always ends first.
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, leaseRenew)
	defer cancel()
	token, err := l.all.Lease(ctx, l.name, l.owner, leaseFor)
	if err != nil {
		return time.Time{}, fmt.Errorf("lease %s: %w", l.name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token = token
	return begun.Add(leaseFor - leaseGuard), nil
}

// during runs work while the lease lasts, and gives it back. If it can't be extended, work is cancelled and the error
// is errLost; it is not given back then, because another process may hold it. It returns only after work has returned.
func (l *Lease) during(ctx context.Context, ends time.Time, work func(context.Context) error) error {
	held, lose := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { l.renew(held, ends, lose) })
	err := work(held)
	lost := errors.Is(context.Cause(held), errLost)
	lose(nil)
	renewing.Wait()
	if lost {
		return errLost
	}
	// Giving it back lets another process start at once instead of after leaseFor. ctx is usually done here.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseRetry)
	defer cancel()
	if err := l.all.EndLease(end, l.name, l.owner); err != nil {
		l.log.Warn("can't give the platform's lease back; another process takes it when it has expired", "connector", l.name, "err", err)
	}
	return err
}

// renew extends the lease until ctx is done, and calls lose when it ends. The timer does so even if the store does not
// answer. If another process holds the lease already, lose is called at once.
func (l *Lease) renew(ctx context.Context, ends time.Time, lose context.CancelCauseFunc) {
	expired := time.AfterFunc(time.Until(ends), func() { lose(errLost) })
	defer expired.Stop()
	for wait := leaseRenew; ; {
		if rest.For(ctx, wait) != nil {
			l.sayLost(ctx)
			return
		}
		ends, err := l.extend(ctx)
		wait = leaseRetry
		switch {
		case err == nil:
			expired.Reset(time.Until(ends))
			wait = leaseRenew
		case errors.Is(err, chat.ErrBusy):
			lose(errLost)
		}
	}
}

// sayLost logs the end of the lease, unless ctx ended for another reason.
func (l *Lease) sayLost(ctx context.Context) {
	if errors.Is(context.Cause(ctx), errLost) {
		l.log.Warn("this process no longer receives the platform's messages: it can't extend its lease", "connector", l.name)
	}
}
