package redis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"parley/progressive"
)

// Each script begins with the functions that it shares with others.
var (
	//go:embed gate_time.lua
	gateTimeLua string
	//go:embed gate.lua
	gateLua string
	//go:embed gate_settle.lua
	gateSettleLua string
	//go:embed gate_beat.lua
	gateBeatLua string
	//go:embed gate_hold.lua
	gateHoldLua string

	bookScript    = goredis.NewScript(gateTimeLua + gateLua)
	settlesScript = goredis.NewScript(gateTimeLua + gateSettleLua)
	beatScript    = goredis.NewScript(gateTimeLua + gateBeatLua)
	holdScript    = goredis.NewScript(gateTimeLua + gateHoldLua)
)

const (
	lease     = 30 * time.Second // the time that an unsettled booking counts; twice the maximum duration of a request
	slowFor   = time.Minute      // the time that a chat runs at half its pace after a long wait
	beatEvery = 3 * time.Second  // how often a replica announces itself
	retryBeat = time.Second      // the same while Redis is unreachable
	silent    = 10 * time.Second // after that time without an announcement, a replica is no longer counted
	unknown   = 2                // the number of replicas before any were counted: a single one would not need Redis
)

// Ledger is a [progressive.SharedBudget]. Redis has a log of bookings for each scope, which all replicas that use the
// same server and prefix write, by the server's clock. Idle entries expire. It is safe for concurrent use.
type Ledger struct {
	circuit *circuit
	at      layout
	log     *slog.Logger
	id      string        // of this replica; random, so that a restarted one is another
	booked  atomic.Uint64 // numbers the bookings
	wanted  chan struct{} // closed by the first call of Backend.Ledger; then keep begins
	once    sync.Once
	more    chan struct{} // asks keep to publish the holds now; room for one request

	// mu guards the fields below.
	mu       sync.Mutex
	replicas int
	lost     bool                            // Redis did not respond to the last request
	holds    map[progressive.Scope]time.Time // the holds of this replica that have not ended, to be published again
}

func newLedger(breaker *circuit, at layout, log *slog.Logger) *Ledger {
	return &Ledger{
		circuit: breaker, at: at, log: log, id: strconv.FormatUint(rand.Uint64(), 36),
		wanted: make(chan struct{}), more: make(chan struct{}, 1), replicas: unknown, holds: map[progressive.Scope]time.Time{},
	}
}

// Book implements [progressive.SharedBudget]. After an error the booking may be in the log; it then counts until its
// lease ends, which errs on the side of sending less.
func (l *Ledger) Book(ctx context.Context, claims []progressive.Claim) (progressive.Booking, error) {
	b := progressive.Booking{ID: l.id + "/" + strconv.FormatUint(l.booked.Add(1), 36), Claims: claims}
	var keys []string
	args := []any{b.ID, lease.Milliseconds()}
	for _, c := range claims {
		keys = append(keys, l.at.scopeKeys(c.Scope)...)
		args = append(args, c.N, millis(c.Per), c.Keep, millis(c.Soon), c.Even)
	}
	var reply []int64
	err := l.circuit.do(ctx, func(ctx context.Context) (err error) {
		reply, err = bookScript.Run(ctx, l.circuit.client, keys, args...).Int64Slice()
		return err
	})
	if err == nil && (len(reply) != 2 || reply[0] < 0 || reply[0] > int64(len(claims))) {
		err = fmt.Errorf("the reply is %v", reply)
	}
	if err != nil {
		return b, l.failed(fmt.Errorf("redis: reserve a permit: %w", err))
	}
	if reply[0] > 0 {
		b.Full, b.Wait = int(reply[0])-1, time.Duration(max(reply[1], 1))*time.Millisecond
	}
	return b, nil
}

// Settle implements [progressive.SharedBudget].
func (l *Ledger) Settle(ctx context.Context, b progressive.Booking, s progressive.Settlement) error {
	var keys []string
	for _, c := range b.Claims {
		keys = append(keys, l.at.scopeKeys(c.Scope)...)
	}
	args := []any{b.ID, s.Unused}
	if s.Scope != "" {
		keys = append(keys, l.at.scopeKeys(s.Scope)...)
		slow := time.Duration(0)
		if s.Slower {
			slow = slowFor
		}
		args = append(args, s.Left, millis(s.After), s.Refused, slow.Milliseconds())
	}
	if err := l.run(ctx, settlesScript, keys, args); err != nil {
		return l.failed(fmt.Errorf("redis: settle a permit: %w", err))
	}
	return nil
}

// run runs a script without a meaningful reply.
func (l *Ledger) run(ctx context.Context, script *goredis.Script, keys []string, args []any) error {
	return l.circuit.do(ctx, func(ctx context.Context) error { return script.Run(ctx, l.circuit.client, keys, args...).Err() })
}

// Replicas implements [progressive.SharedBudget].
func (l *Ledger) Replicas() (n int, reached bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replicas, !l.lost
}

// keep announces this replica, publishes its holds, and notices when the server is back, until ctx is done. Holds are
// published before the announcement that shares the budgets again: otherwise another replica could send in a scope that
// the platform has closed.
func (l *Ledger) keep(ctx context.Context) {
	select {
	case <-l.wanted:
	case <-ctx.Done():
		return
	}
	for counted := (time.Time{}); ; {
		err := l.tell(ctx)
		n, known, now := 0, false, time.Now()
		if err == nil {
			n, known, err = l.beat(ctx)
		}
		if err == nil {
			if !known && now.Sub(counted) < silent-limit {
				err = errForgotten
			}
			counted = now
		}
		if ctx.Err() != nil {
			return
		}
		wait := beatEvery
		if err != nil {
			_ = l.failed(err)
			wait = retryBeat
		} else {
			l.found(n)
		}
		select {
		case <-time.After(wait):
		case <-l.more:
		case <-ctx.Done():
			return
		}
	}
}

// beat announces this replica, and returns the number of replicas and whether this one was among them.
func (l *Ledger) beat(ctx context.Context) (replicas int, known bool, err error) {
	var reply []int64
	err = l.circuit.do(ctx, func(ctx context.Context) (err error) {
		reply, err = beatScript.Run(ctx, l.circuit.client, []string{l.at.replicasKey()}, l.id, silent.Milliseconds()).Int64Slice()
		return err
	})
	if err == nil && (len(reply) != 2 || reply[0] < 1) {
		err = fmt.Errorf("the reply is %v", reply)
	}
	if err != nil {
		return 0, false, fmt.Errorf("redis: count the replicas: %w", err)
	}
	return int(reply[0]), reply[1] == 0, nil
}

// failed marks the server as unreachable and returns err. It logs only the change.
func (l *Ledger) failed(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lost {
		l.log.Warn("redis: budgets are no longer shared; this replica uses its share of each", "replicas", l.replicas, "err", err)
	}
	l.lost = true
	return err
}

// found marks the server as reachable.
func (l *Ledger) found(replicas int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		l.log.Info("redis: budgets are shared again", "replicas", replicas)
	}
	l.lost, l.replicas = false, replicas
}

// Hold implements [progressive.SharedBudget]. It only records the hold and wakes keep, which publishes it.
func (l *Ledger) Hold(scope progressive.Scope, until time.Time) {
	l.mu.Lock()
	if until.After(l.holds[scope]) {
		l.holds[scope] = until
	}
	l.mu.Unlock()
	l.checkSoon()
}

// checkSoon asks keep to publish the holds and announce this replica, without waiting for it.
func (l *Ledger) checkSoon() {
	select {
	case l.more <- struct{}{}:
	default: // keep is already asked to
	}
}

// tell publishes all holds of this replica, also those published before: Redis may have lost them, or never received
// them. The script keeps the later end, so repeating it is harmless.
func (l *Ledger) tell(ctx context.Context) error {
	ends := l.held(time.Now())
	for some := range slices.Chunk(slices.Sorted(maps.Keys(ends)), batch) {
		var keys []string
		var args []any
		for _, s := range some {
			keys = append(keys, l.at.scopeKeys(s)[1])
			args = append(args, millis(time.Until(ends[s])))
		}
		if err := l.run(ctx, holdScript, keys, args); err != nil {
			return fmt.Errorf("redis: publish holds: %w", err)
		}
	}
	return nil
}

// held returns the holds that have not ended, and deletes the others.
func (l *Ledger) held(now time.Time) map[progressive.Scope]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.holds, func(_ progressive.Scope, until time.Time) bool { return !until.After(now) })
	return maps.Clone(l.holds)
}

var _ progressive.SharedBudget = (*Ledger)(nil)

// errForgotten means that Redis was emptied, by a restart, a failover or a FLUSHALL. It has no record of the spending,
// so budgets are treated as after an outage.
var errForgotten = errors.New("redis: it has lost its data, which is published again")

// Ledger returns the budgets shared by all replicas with the same server and prefix. From the first call on this
// replica is counted, so a gateway that doesn't use shared budgets takes no share of them.
func (b *Backend) Ledger() *Ledger {
	b.ledger.once.Do(func() { close(b.ledger.wanted) })
	return b.ledger
}

// scopeKeys returns the keys of a scope: its log of bookings, and its state. The hash tag {gate} puts all scopes into
// one slot of a cluster, because a request spends several at once and a script can only use keys of one slot.
func (l layout) scopeKeys(s progressive.Scope) []string {
	return []string{l.prefix + "{gate}:log:" + string(s), l.prefix + "{gate}:state:" + string(s)}
}

func (l layout) replicasKey() string { return l.prefix + "{gate}:replicas" }

// millis formats a duration in milliseconds, with decimals, because budgets can be shorter than one.
func millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64)
}
