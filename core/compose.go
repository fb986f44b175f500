package core

import (
	"context"
	"fmt"
)

// compose makes the prompt of a run: what was said in its room up to its own turn, oldest first.
func (x *execution) compose(ctx context.Context) (Request, error) {
	recent, err := x.cfg.Store.Recent(ctx, x.run.Room, x.run.Response, window)
	if err != nil {
		return Request{}, fmt.Errorf("recall %s: %w", x.run.Room, err)
	}
	if err := x.refuse(ctx, recent); err != nil {
		return Request{}, err
	}
	req := Request{System: x.cfg.Agent.System, Tools: x.tools()}
	for _, m := range recent {
		if t, ok := x.turnOf(m); ok {
			req.Turns = append(req.Turns, t)
		}
	}
	return req, nil
}

// turnOf is what a model is told of m. What tells of a failure is no part of the conversation (LM-08).
func (x *execution) turnOf(m Memory) (Turn, bool) {
	switch {
	case m.Failure != "":
		return Turn{}, false
	case m.Author == x.cfg.Agent.entity():
		return Turn{Role: Assistant, Text: m.Text}, true
	case x.run.Kind.Private() || m.Name == "":
		return Turn{Role: User, Text: m.Text}, true
	}
	return Turn{Role: User, Text: m.Name + ": " + m.Text}, true
}

// refuse answers strangers instead of the model: once a room, then with silence.
func (x *execution) refuse(ctx context.Context, recent []Memory) error {
	if len(x.run.Inputs) == 0 {
		return nil
	}
	last, err := x.cfg.Store.Memory(ctx, x.run.Inputs[len(x.run.Inputs)-1])
	if err != nil {
		return fmt.Errorf("recall the question: %w", err)
	}
	if x.cfg.Access.invited(x.run.Address.Connector, last.Author) {
		return nil
	}
	for _, m := range recent {
		if m.Author == x.cfg.Agent.entity() {
			return errNothingToSay
		}
	}
	x.answer.Apply(Change{Kind: Text, Text: strangerLine})
	return errRefused
}
