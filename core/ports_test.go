package core_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/core"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
	"parley/core/storage"
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
	cfg.Store = &portStore{cfg.Store, p}
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

type portStore struct {
	storage.Store
	p *ports
}

func (s *portStore) Accept(ctx context.Context, m chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	return effect(s.p, "accept", func() (chat.Accepted, error) { return s.Store.Accept(ctx, m, j) })
}

func (s *portStore) Approve(ctx context.Context, who chat.Person) error {
	return act(s.p, "let in", func() error { return s.Store.Approve(ctx, who) })
}

func (s *portStore) Reject(ctx context.Context, code string) error {
	return act(s.p, "turn away", func() error { return s.Store.Reject(ctx, code) })
}

func (s *portStore) Retire(ctx context.Context, id string) (chat.Accepted, error) {
	return effect(s.p, "retire", func() (chat.Accepted, error) { return s.Store.Retire(ctx, id) })
}

func (s *portStore) Choose(ctx context.Context, id string, option int, in chat.Memory, payer chat.EntityID) (chat.Accepted, error) {
	return effect(s.p, "choose", func() (chat.Accepted, error) { return s.Store.Choose(ctx, id, option, in, payer) })
}

func (s *portStore) Park(ctx context.Context, id chat.RunID, e chat.Epoch, w chat.Wait) error {
	return act(s.p, "park", func() error { return s.Store.Park(ctx, id, e, w) })
}

func (s *portStore) Wake(ctx context.Context, id chat.RunID, end answer.Status) error {
	return act(s.p, "wake", func() error { return s.Store.Wake(ctx, id, end) })
}

func (s *portStore) RequestApproval(ctx context.Context, a chat.Approval) (chat.Approval, error) {
	return effect(s.p, "request approval", func() (chat.Approval, error) { return s.Store.RequestApproval(ctx, a) })
}

func (s *portStore) DecideApproval(ctx context.Context, id string, from, to chat.Decision, by chat.EntityID, at time.Time) error {
	return act(s.p, "decide approval", func() error { return s.Store.DecideApproval(ctx, id, from, to, by, at) })
}

func (s *portStore) Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error) {
	return effect(s.p, "start", func() (chat.Run, error) { return s.Store.Start(ctx, id, owner) })
}

func (s *portStore) Note(ctx context.Context, id chat.RunID, e chat.Epoch, n chat.Note) error {
	return act(s.p, noteName(n), func() error { return s.Store.Note(ctx, id, e, n) })
}

func (s *portStore) Attempt(ctx context.Context, id chat.RunID, e chat.Epoch, day string, message ...quota.Charge) (string, error) {
	return effect(s.p, "attempt", func() (string, error) { return s.Store.Attempt(ctx, id, e, day, message...) })
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

func (s *portStore) Finish(ctx context.Context, id chat.RunID, e chat.Epoch, o answer.Outcome, m chat.Memory) error {
	return act(s.p, "finish", func() error { return s.Store.Finish(ctx, id, e, o, m) })
}

func (s *portStore) Revise(ctx context.Context, id chat.MemoryID, text string, files []chat.Attachment) error {
	return act(s.p, "revise", func() error { return s.Store.Revise(ctx, id, text, files) })
}

func (s *portStore) Reopen(ctx context.Context, id chat.RunID) error {
	return act(s.p, "reopen", func() error { return s.Store.Reopen(ctx, id) })
}

func (s *portStore) Forget(ctx context.Context, id chat.MemoryID) error {
	return act(s.p, "forget", func() error { return s.Store.Forget(ctx, id) })
}

func (s *portStore) Beat(ctx context.Context, owner string, until time.Time) error {
	if err := s.p.alive(); err != nil {
		return err
	}
	return s.Store.Beat(ctx, owner, until)
}

func (s *portStore) Leave(ctx context.Context, owner string) error {
	if err := s.p.alive(); err != nil {
		return err
	}
	return s.Store.Leave(ctx, owner)
}

func (s *portStore) RetryRun(ctx context.Context, id chat.RunID) error {
	return act(s.p, "retry", func() error { return s.Store.RetryRun(ctx, id) })
}

func (s *portStore) OpenRuns(ctx context.Context, in chat.RoomID) ([]chat.Run, error) {
	if err := s.p.alive(); err != nil {
		return nil, err
	}
	if err := s.p.refuses("open"); err != nil {
		return nil, err
	}
	return s.Store.OpenRuns(ctx, in)
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
