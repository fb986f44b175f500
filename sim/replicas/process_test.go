package replicas

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"parley/core"
	"parley/core/chat"
)

// port is what a process reaches over the network.
type port string

const (
	toStore    port = "store"
	toShared   port = "shared" // tracker, bus and budgets
	toPlatform port = "platform"
)

var (
	errRefused = errors.New("simulated: no connection")
	errLost    = errors.New("simulated: the connection was lost")
)

// silence is how long a call to a store waits for an answer that never comes.
const silence = 5 * time.Second

// process is one life of a gateway.
type process struct {
	*core.Runtime
	w     *simulation
	name  string
	life  context.Context // until it dies or is told to stop
	kill  context.CancelFunc
	ended chan struct{}

	mu      sync.Mutex
	dead    bool
	paused  chan struct{} // closed when the pause ends; nil without one
	cut     map[port]bool
	effects int  // until it dies; 0 is never
	behind  bool // it dies behind that effect, not before it
}

// call is one call of a port.
type call struct {
	port   port
	name   string
	of     string        // what it is about: calls about other things don't change what becomes of it
	effect bool          // it changes something outside
	slow   time.Duration // of the network, at most
}

// fate is what becomes of a call.
type fate struct {
	latency time.Duration
	luck    float64
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// awake waits for the end of a pause, and reports whether the process lives.
func (p *process) awake() bool {
	for {
		p.mu.Lock()
		paused, dead := p.paused, p.dead
		p.mu.Unlock()
		if dead || paused == nil {
			return !dead
		}
		<-paused
	}
}

// fate draws what becomes of a call: it depends on the seed, on who calls about what, and on the time, but not on the order of the calls
// that are made at that time, which Go chooses.
func (p *process) fate(c call) fate {
	luck := p.luck(c.name, c.of)
	f := fate{latency: time.Millisecond + time.Duration(luck.Int64N(int64(c.slow))), luck: luck.Float64()}
	if c.port == toPlatform && luck.IntN(40) == 0 {
		f.latency += time.Duration(luck.Int64N(int64(8 * time.Second)))
	}
	return f
}

// luck depends on the seed, the process, the time, and what it is for.
func (p *process) luck(of ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, p.name, of, time.Since(p.w.began))
	return rand.New(rand.NewPCG(p.w.seed, h.Sum64()))
}

// jitter is the pause before a retry.
func (p *process) jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(p.luck("jitter", d).Int64N(int64(d/2)))
}

// isCut reports whether the process is cut off from a port.
func (p *process) isCut(to port) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut[to]
}

// count counts an effect, and returns what the process does around it: it dies before it, behind it, or goes on.
func (p *process) count(c call) (before, behind bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !c.effect || p.effects == 0 {
		return false, false
	}
	p.effects--
	return p.effects == 0 && !p.behind, p.effects == 0 && p.behind
}

// die ends the process: nothing that it does has an effect any more, except what is on its way.
func (p *process) die() {
	p.mu.Lock()
	p.dead = true
	if p.paused != nil {
		close(p.paused)
		p.paused = nil
	}
	p.mu.Unlock()
	p.kill()
}

// reach makes a call over the network: f takes effect once, or not at all. The error is [chat.ErrCrashed] for a dead process,
// errRefused if f had no effect, and errLost if the caller can't know.
func reach[T any](ctx context.Context, p *process, c call, f func() (T, error)) (v T, err error) {
	var none T
	if !p.awake() {
		return none, chat.ErrCrashed
	}
	if c.port != toPlatform && ctx.Err() != nil { // as drivers do
		return none, context.Cause(ctx)
	}
	fate := p.fate(c)
	cut := p.isCut(c.port)
	time.Sleep(fate.latency / 2)
	before, behind := p.count(c) // here, because effects that begin at the same time arrive at different times
	if before {
		p.w.note(p, "dies before %s", c.name)
		p.die()
		return none, chat.ErrCrashed
	}
	if cut && fate.luck < 0.5 {
		return none, errRefused
	}
	if lost := cut && fate.luck < 0.8 || fate.luck > 0.995; lost && !behind {
		return none, p.silence(ctx, c)
	}
	v, err = f()
	if behind {
		p.w.note(p, "dies behind %s", c.name)
		p.die()
	}
	if cut || p.isCut(c.port) || fate.luck > 0.99 {
		return none, p.silence(ctx, c)
	}
	time.Sleep(fate.latency / 2)
	if !p.awake() {
		return none, chat.ErrCrashed
	}
	return v, err
}

// silence waits for an answer that never comes.
func (p *process) silence(ctx context.Context, c call) error {
	d := silence
	if c.port == toShared {
		d = time.Second
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	if !p.awake() {
		return chat.ErrCrashed
	}
	return errLost
}

// act is reach for calls without a result.
func act(ctx context.Context, p *process, c call, f func() error) error {
	_, err := reach(ctx, p, c, func() (struct{}, error) { return struct{}{}, f() })
	return err
}
