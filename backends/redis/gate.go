package redis

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"parley/progressive"
)

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
	lease     = 30 * time.Second // how long an unsettled booking counts; twice the maximum duration of a request
	slowFor   = time.Minute      // for how long a scope goes at half its pace after a refusal
	beatEvery = 3 * time.Second
	retryBeat = time.Second
	silent    = 10 * time.Second // after which a replica is not counted any more
	unknown   = 2                // how many replicas there are, before anybody was counted: one would not need Redis
)

// Ledger is a [progressive.SharedBudget] with the bookings of all replicas that use the same server and prefix, by the
// server's clock. Idle entries expire.
type Ledger struct {
	client goredis.UniversalClient
	at     layout
	log    *slog.Logger
	id     string
	booked atomic.Uint64
	wanted chan struct{} // closed when this replica is to be counted
	once   sync.Once
	more   chan struct{} // there is something to tell

	mu       sync.Mutex
	replicas int
	lost     bool
	holds    map[progressive.Scope]time.Time // that are not over, as far as we know
}

var _ progressive.SharedBudget = (*Ledger)(nil)

func newLedger(client goredis.UniversalClient, at layout, log *slog.Logger) *Ledger {
	return &Ledger{
		client: client, at: at, log: log, id: strconv.FormatUint(rand.Uint64(), 36),
		wanted: make(chan struct{}), more: make(chan struct{}, 1), replicas: unknown, holds: map[progressive.Scope]time.Time{},
	}
}

// Ledger returns the budgets shared by all replicas with the same server and prefix. From the first call on, this
// replica is counted.
func (b *Backend) Ledger() *Ledger {
	b.ledger.once.Do(func() { close(b.ledger.wanted) })
	return b.ledger
}

// Book implements [progressive.SharedBudget].
func (l *Ledger) Book(ctx context.Context, claims []progressive.Claim) (progressive.Booking, error) {
	b := progressive.Booking{ID: l.id + "/" + strconv.FormatUint(l.booked.Add(1), 36), Claims: claims}
	var keys []string
	args := []any{b.ID, lease.Milliseconds()}
	for _, c := range claims {
		keys = append(keys, l.at.scopeKeys(c.Scope)...)
		args = append(args, c.N, millis(c.Per), c.Keep, millis(c.Soon), c.Even)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reply, err := bookScript.Run(ctx, l.client, keys, args...).Int64Slice()
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
		if s.Refused {
			slow = slowFor
		}
		args = append(args, s.Left, millis(s.After), slow.Milliseconds())
	}
	if err := l.run(ctx, settlesScript, keys, args); err != nil {
		return l.failed(fmt.Errorf("redis: settle a permit: %w", err))
	}
	return nil
}

// run runs a script whose reply says nothing.
func (l *Ledger) run(ctx context.Context, script *goredis.Script, keys []string, args []any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return script.Run(ctx, l.client, keys, args...).Err()
}

// Replicas implements [progressive.SharedBudget].
func (l *Ledger) Replicas() (n int, reached bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replicas, !l.lost
}

// keep counts this replica, tells what is held, and finds out when the server is back. What is held is told before budgets
// are shared again.
func (l *Ledger) keep(ctx context.Context) {
	select {
	case <-l.wanted:
	case <-ctx.Done():
		return
	}
	for {
		err := l.tell(ctx)
		n := 0
		if err == nil {
			n, err = l.beat(ctx)
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

func (l *Ledger) beat(ctx context.Context) (replicas int, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	n, err := beatScript.Run(ctx, l.client, []string{l.at.replicasKey()}, l.id, silent.Milliseconds()).Int()
	if err == nil && n < 1 {
		err = errors.New("no replica is counted")
	}
	if err != nil {
		return 0, fmt.Errorf("redis: count the replicas: %w", err)
	}
	return n, nil
}

// failed marks the server as out of reach.
func (l *Ledger) failed(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lost {
		l.log.Warn("redis: budgets are no longer shared; this replica uses its share of each", "replicas", l.replicas, "err", err)
	}
	l.lost = true
	return err
}

func (l *Ledger) found(replicas int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		l.log.Info("redis: budgets are shared again", "replicas", replicas)
	}
	l.lost, l.replicas = false, replicas
}

// scopeKeys are a scope's log and its state. All scopes are in one slot of a cluster: a request spends several.
func (l layout) scopeKeys(s progressive.Scope) []string {
	return []string{l.prefix + "{gate}:log:" + string(s), l.prefix + "{gate}:state:" + string(s)}
}

func (l layout) replicasKey() string { return l.prefix + "{gate}:replicas" }

func millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64)
}
