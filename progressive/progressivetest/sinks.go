package progressivetest

import (
	"context"
	"time"

	"parley/progressive"
)

// The sinks of a chat differ in what they can do.
type (
	// PostOnly can only create messages.
	PostOnly struct{ *Chat }
	// Editing can create and change them.
	Editing struct{ PostOnly }
	// Full can also delete, and show that it types. It knows no nonces.
	Full struct{ Editing }
	// Drafting is Full with drafts, which stay for 30 seconds.
	Drafting struct{ Full }
	// Nonced is Full with nonces, good for the chat's Window.
	Nonced struct{ Full }
)

var (
	_ progressive.Sink     = PostOnly{}
	_ progressive.Resender = PostOnly{}
	_ progressive.Editor   = Editing{}
	_ interface {
		progressive.Deleter
		progressive.Typer
		progressive.Prober
	} = Full{}
	_ progressive.NonceKeeper = Nonced{}
	_ progressive.Drafter     = Drafting{}
)

// Post implements [progressive.Sink].
func (s PostOnly) Post(ctx context.Context, p progressive.Part, nonce string) (string, error) {
	return s.post(ctx, p, nonce)
}

// Edit implements [progressive.Editor].
func (s Editing) Edit(ctx context.Context, id string, p progressive.Part) error {
	return s.edit(ctx, id, p)
}

// Delete implements [progressive.Deleter].
func (s Full) Delete(ctx context.Context, id string) error { return s.delete(ctx, id) }

// Typing implements [progressive.Typer].
func (s Full) Typing(ctx context.Context) (time.Duration, error) { return s.typing(ctx) }

// Probe implements [progressive.Prober].
func (s Full) Probe(ctx context.Context) error {
	_, err := s.typing(ctx)
	return err
}

// Drafts implements [progressive.Drafter].
func (s Drafting) Drafts() bool { return true }

// Draft implements [progressive.Drafter].
func (s Drafting) Draft(ctx context.Context, p progressive.Part) (time.Duration, <-chan struct{}, error) {
	return s.draft(ctx, p)
}

// NonceWindow implements [progressive.NonceKeeper].
func (s Nonced) NonceWindow() time.Duration { return s.Window }

// NewChat returns a chat on a platform without faults.
func NewChat() *Chat {
	return &Chat{Name: "room", Max: 200, Latency: 100 * time.Millisecond, Typed: 5 * time.Second,
		Limits: map[progressive.Scope]progressive.Budget{"chat": {N: 4, Per: 4 * time.Second}, "bot": {N: 30, Per: time.Second}}}
}
