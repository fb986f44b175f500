package core_test

import (
	"context"
	"iter"
	"sync"
	"time"

	"parley/core/chat"
	"parley/core/llm"
	"parley/sim"
)

// model says what its scripts say, one for each call; without one, what it was told.
type model struct {
	mu      sync.Mutex
	scripts [][]step
	respond func(llm.Request) []step      // what it says without a script; nil: what it was told
	where   func(llm.Request) chat.RoomID // nil: the test asks in one room at a time
	calls   []*modelCall
}

type modelCall struct {
	llm.Request
	From, To time.Time
	Cause    error // why it was cut off
}

// step is one piece; nil says nothing.
type step func(ctx context.Context) (*llm.Chunk, error)

func write(s string) step {
	return func(context.Context) (*llm.Chunk, error) { return &llm.Chunk{Text: s}, nil }
}

func finish(f llm.FinishReason) step {
	return func(context.Context) (*llm.Chunk, error) { return &llm.Chunk{Finish: f}, nil }
}

func call(index int, id, name, parameters string) step {
	return func(context.Context) (*llm.Chunk, error) {
		return &llm.Chunk{Call: &llm.CallDelta{Index: index, ID: id, Name: name, Parameters: parameters}}, nil
	}
}

func alive() step {
	return func(context.Context) (*llm.Chunk, error) { return &llm.Chunk{Alive: true}, nil }
}

func fails(err error) step {
	return func(context.Context) (*llm.Chunk, error) { return nil, err }
}

func panics() step {
	return func(context.Context) (*llm.Chunk, error) { panic("the model's reader is broken") }
}

func pause(d time.Duration) step {
	return func(ctx context.Context) (*llm.Chunk, error) {
		select {
		case <-time.After(d):
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (m *model) queue(scripts ...[]step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scripts = append(m.scripts, scripts...)
}

// clear drops the scripts that are left.
func (m *model) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scripts = nil
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		script, c := m.begin(req)
		defer m.end(ctx, c)
		for _, s := range script {
			switch chunk, err := s(ctx); {
			case err != nil:
				yield(llm.Chunk{}, err)
				return
			case chunk != nil && !yield(*chunk, nil):
				return
			}
		}
	}
}

func (m *model) begin(req llm.Request) ([]step, *modelCall) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &modelCall{Request: req, From: time.Now()}
	m.calls = append(m.calls, c)
	if len(m.scripts) > 0 {
		s := m.scripts[0]
		m.scripts = m.scripts[1:]
		return s, c
	}
	if m.respond != nil {
		return m.respond(req), c
	}
	return []step{write("You said: " + req.Messages[len(req.Messages)-1].Text)}, c
}

func (m *model) end(ctx context.Context, c *modelCall) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.To, c.Cause = time.Now(), context.Cause(ctx)
}

// requests returns what the model was asked so far.
func (m *model) requests() (all []modelCall) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.calls {
		all = append(all, *c)
	}
	return all
}

// modelCalls is for the invariants.
func (m *model) modelCalls() (all []sim.Work) {
	for _, c := range m.requests() {
		in := room
		if m.where != nil {
			in = m.where(c.Request)
		}
		all = append(all, sim.Work{Room: in, From: c.From, To: c.To})
	}
	return all
}

// texts are what a prompt holds.
func (c modelCall) texts() (all []string) {
	for _, t := range c.Messages {
		all = append(all, t.Text)
	}
	return all
}
