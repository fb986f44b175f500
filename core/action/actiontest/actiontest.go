// Package actiontest calls actions in their own tests, without a runtime.
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

// Call describes a call of an action. The zero Call has no parameters and an empty turn context.
type Call struct {
	Parameters string // a JSON object; default {}
	Scene      action.TurnContext
	Earlier    []action.Acted
	Unsayable  error // the error when the action sends a notice
	Chosen     []int // the options that are chosen, question by question; later questions stay unanswered
	Unaskable  error // the error when the action asks a question
}

// Made is the outcome of a call.
type Made struct {
	action.Result
	Err        error         // the action's error, or why it was not called
	Shown      []string      // its output, update by update
	ShownFiles []llm.File    // the files of the last update
	Said       []chat.Notice // the notices it sent
	Asked      []chat.Question
}

// ErrNotOffered is returned if the action is not available in the turn.
var ErrNotOffered = errors.New("the action is not offered here")

// ErrParameters is returned if the parameters don't match the action's schema. The action was not called.
var ErrParameters = errors.New("the parameters do not fit")

// Make calls a like the runtime: only if it is available, and with parameters that match its schema. An invalid schema
// fails the test. Panics are not recovered.
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

// Named returns a plugin's action by name.
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
