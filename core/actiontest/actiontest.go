// Package actiontest makes calls of actions in their own tests, without a runtime.
package actiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/schema"
)

// Call is what an action is to be called with. The zero Call is one without parameters, in a turn about which nothing
// is known.
type Call struct {
	Parameters string // a JSON object; empty is {}
	Scene      action.TurnContext
	Earlier    []action.Acted
	Unsayable  error // what the action hears when it says something elsewhere
	Chosen     []int // the options that are chosen, question by question; then nobody chooses
	Unaskable  error // what the action hears when it asks
}

// Made is what came of a call.
type Made struct {
	action.Result
	Err        error         // of the action, or why it was not called
	Shown      []string      // what it showed, one after the other
	ShownFiles []llm.File    // with the last of that
	Said       []chat.Notice // what it said elsewhere
	Asked      []chat.Question
}

// ErrNotOffered says that the action is not there in such a turn.
var ErrNotOffered = errors.New("the action is not offered here")

// ErrParameters says that the parameters do not fit the action's schema. The action was not called.
var ErrParameters = errors.New("the parameters do not fit")

// Make calls a as the runtime does: only where it is offered, and with parameters that fit its schema. A schema that is
// none fails the test. Panics are the test's.
func Make(t testing.TB, a action.Action, c Call) (m Made) {
	t.Helper()
	spec := a.Spec()
	if o, ok := a.(action.Conditional); ok && !o.Available(c.Scene) {
		m.Err = ErrNotOffered
		return m
	}
	params := json.RawMessage(c.Parameters)
	if len(params) == 0 {
		params = json.RawMessage(`{}`)
	}
	if spec.Parameters != nil {
		check, err := schema.Compile(spec.Parameters)
		if err != nil {
			t.Fatalf("%s: %v", spec.Name, err)
		}
		if err := check(params); err != nil {
			m.Err = fmt.Errorf("%w: %w", ErrParameters, err)
			return m
		}
	}
	var answer answer.Answer
	var mu sync.Mutex
	call := action.NewCall(&answer, "call", params, c.Scene, func(_ context.Context, n chat.Notice) error {
		mu.Lock()
		defer mu.Unlock()
		if c.Unsayable == nil {
			m.Said = append(m.Said, n)
		}
		return c.Unsayable
	}, func(_ context.Context, q chat.Question) (<-chan chat.Question, error) {
		mu.Lock()
		defer mu.Unlock()
		if c.Unaskable != nil {
			return nil, c.Unaskable
		}
		n := len(m.Asked)
		m.Asked = append(m.Asked, q)
		answered := make(chan chat.Question, 1)
		if n < len(c.Chosen) {
			q.Choice, q.By = c.Chosen[n], q.For[0]
			answered <- q
		}
		close(answered)
		return answered, nil
	})
	call.Earlier = c.Earlier
	m.Result, m.Err = a.Act(t.Context(), call)
	m.Shown, m.ShownFiles = answer.View().History, answer.View().Files()
	return m
}

// Named finds one of a plugin's actions.
func Named(t testing.TB, p action.Plugin, name string) action.Action {
	t.Helper()
	for _, a := range p.Actions {
		if a.Spec().Name == name {
			return a
		}
	}
	t.Fatalf("the plugin %s has no action %s", p.Name, name)
	return nil
}
