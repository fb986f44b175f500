package core

import (
	"context"
	"errors"
	"fmt"
)

// lastAsked finds what was asked last: its place among recent, and its run. [ErrNotFound] if that is too long ago.
func (rt *Runtime) lastAsked(ctx context.Context, recent []Memory) (at int, run Run, err error) {
	for at = len(recent) - 1; at >= 0; at-- {
		if recent[at].Author == rt.cfg.Agent.entity() {
			continue
		}
		run, err = rt.cfg.Store.RunOf(ctx, recent[at].ID)
		switch {
		case ignore(err, ErrNotFound) != nil:
			return 0, Run{}, fmt.Errorf("look for the last question: %w", err)
		case err == nil && run.Outcome.Status != Ignored:
			return at, run, nil
		}
	}
	return 0, Run{}, ErrNotFound
}

// askedAgain is s as it was when its last question was asked. What was answered since is forgotten: it stays in sight, but
// not in prompts.
func (x *execution) askedAgain(ctx context.Context, s Scene) (Scene, error) {
	var at int
	err := x.persist(ctx, func() (err error) {
		var asked Run
		at, asked, err = x.lastAsked(ctx, s.Recent)
		if err == nil {
			err = x.forgetAnswers(ctx, asked, s.Recent[at+1:])
		}
		if errors.Is(err, ErrNotFound) {
			at, err = -1, nil
		}
		return err
	})
	switch {
	case err != nil:
		return s, err
	case at < 0: // it was forgotten meanwhile
		return s, errNothingToSay
	}
	s.Message, s.Recent = s.Recent[at], s.Recent[:at+1]
	return s, nil
}

// forgetAnswers forgets those of later that answer what asked was to answer, at first or again.
func (x *execution) forgetAnswers(ctx context.Context, asked Run, later []Memory) error {
	for _, m := range later {
		if m.Author != x.cfg.Agent.entity() {
			continue
		}
		run, err := x.cfg.Store.Run(ctx, RunID(m.ID))
		if ignore(err, ErrNotFound) != nil {
			return err
		}
		if err == nil && (run.ID == asked.ID || run.Duty == Again) {
			if err := x.cfg.Store.Forget(ctx, m.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// nothingToRetry is said where nothing was asked.
func (x *execution) nothingToRetry(context.Context) (string, error) {
	return "Nothing was asked here that I could answer once more.", nil
}
