package core_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"parley/core"
	"parley/core/chat"
	"parley/core/storage/storagetest"
)

// ports wrap what a node changes outside, and count that. Before the kth effect a test may step in; once dead, nothing
// has an effect any more, and everything answers ErrCrashed.
type ports struct {
	mu     sync.Mutex
	names  []string
	before map[int]func()
	after  map[int]func()
	fail   func(name string) error // may refuse an effect
	dead   bool
}

func (p *ports) at(k int, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = map[int]func(){k: f}
}

// next has f step in before the effect that comes next.
func (p *ports) next(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = map[int]func(){len(p.names) + 1: f}
}

// failing has fail refuse effects from now on; nil refuses none.
func (p *ports) failing(fail func(name string) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = fail
}

// done names the effects so far.
func (p *ports) done() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.names)
}

func (p *ports) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
}

func (p *ports) alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return chat.ErrCrashed
	}
	return nil
}

// count names the next effect and gives what a test does around it.
func (p *ports) count(name string) (before, after func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = append(p.names, name)
	return p.before[len(p.names)], p.after[len(p.names)]
}

func (p *ports) refuses(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail == nil {
		return nil
	}
	return p.fail(name)
}

func effect[T any](p *ports, name string, f func() (T, error)) (v T, err error) {
	if p == nil {
		return f()
	}
	if err := p.alive(); err != nil {
		return v, err
	}
	before, after := p.count(name)
	if before != nil {
		before()
	}
	if err := p.alive(); err != nil {
		return v, err
	}
	if err := p.refuses(name); err != nil {
		return v, err
	}
	v, err = f()
	if after != nil {
		after()
	}
	if dead := p.alive(); dead != nil {
		var none T
		return none, dead
	}
	return v, err
}

func act(p *ports, name string, f func() error) error {
	_, err := effect(p, name, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// wrap puts p around the store, the tracker and the chat of cfg.
func (p *ports) wrap(cfg *core.Config) {
	cfg.Store = &storagetest.Interceptor{Store: cfg.Store, Around: p.call}
	cfg.Tracker = &portTracker{cfg.Tracker, p}
	open := cfg.Open
	cfg.Open = func(ctx context.Context, r chat.Run) (core.Surface, error) {
		s, err := open(ctx, r)
		if ps, ok := s.(*poster); ok {
			ps.ports = p
		}
		return s, err
	}
}

// effectNames names the calls of a store that count as effects: what a story is about, not its heartbeats and its readers.
var effectNames = map[string]string{
	"Accept": "accept", "Start": "start", "Attempt": "attempt", "Finish": "finish", "Revise": "revise", "Reopen": "reopen", "Forget": "forget",
	"Park": "park", "Wake": "wake", "Choose": "choose", "Retire": "retire", "RequestApproval": "request approval", "DecideApproval": "decide approval",
	"Approve": "let in", "Reject": "turn away", "RetryRun": "retry",
}

// call makes a call of the store: an effect, one that fails only in a dead process or when the store is refused, or any other.
func (p *ports) call(_ context.Context, c storagetest.Call, do func() error) error {
	var err error
	switch c.Method {
	case "Note":
		return act(p, noteName(c.Args[2].(chat.Note)), do)
	case "OpenRuns":
		err = cmp.Or(p.alive(), p.refuses("open"))
	case "Beat", "Leave":
		err = p.alive()
	default:
		if name, ok := effectNames[c.Method]; ok {
			return act(p, name, do)
		}
	}
	if err != nil {
		return err
	}
	return do()
}

func noteName(n chat.Note) string {
	switch {
	case n.Verdict != nil:
		return "note verdict"
	case n.Acting != "":
		return "note acting"
	case n.Acted != "":
		return "note acted"
	case n.Shown != nil:
		ids := []string{}
		for _, s := range n.Shown {
			ids = append(ids, s.ID)
		}
		return fmt.Sprintf("note shown %q", ids)
	}
	return "note text"
}

type portTracker struct {
	core.Tracker
	p *ports
}

func (t *portTracker) Claim(ctx context.Context, a chat.AgentID, in chat.RoomID, id chat.ResponseID) (context.Context, error) {
	return effect(t.p, "claim", func() (context.Context, error) { return t.Tracker.Claim(ctx, a, in, id) })
}

func (t *portTracker) Settle(ctx context.Context, a chat.AgentID, in chat.RoomID, id chat.ResponseID) error {
	return act(t.p, "settle", func() error { return t.Tracker.Settle(ctx, a, in, id) })
}

func (t *portTracker) Stop(ctx context.Context, a chat.AgentID, in chat.RoomID, upTo chat.ResponseID) error {
	return act(t.p, "stop", func() error { return t.Tracker.Stop(ctx, a, in, upTo) })
}
