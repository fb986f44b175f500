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
	Unsayable  error    // the error when the action sends a notice
	Chosen     []int    // the options that are chosen, question by question; later questions stay unanswered
	Words      []string // instead of options: the words of the answers, question by question
	Unaskable  error    // the error when the action asks a question, or for consent
	// Waited is for an action that asks for consent (package consent): the run has waited for it before this call, and Consent is the option
	// that was chosen, or "" if the time was over.
	Waited  bool
	Consent string
}

// Made is the outcome of a call.
type Made struct {
	action.Result
	Err        error         // the action's error, or why it was not called
	Shown      []string      // its output, update by update
	ShownFiles []llm.File    // the files of the last update
	Said       []chat.Notice // the notices it sent
	Asked      []chat.Question
	Refused    string       // why it was not called, for the model
	Waits      *action.Wait // the consent that the run is parked for; Err is [chat.ErrParked] then
}

// ErrNotOffered is returned if the action is not available in the turn.
var ErrNotOffered = errors.New("the action is not offered here")

// ErrParameters is returned if the parameters don't match the action's schema. The action was not called.
var ErrParameters = errors.New("the parameters do not fit")

// Make calls a like the runtime: only if it is available, with parameters that match its schema, and after its consent. An invalid schema
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
	call := (&action.Block{Answer: &answer, ID: "call"}).Call(t.Context(), params, c.Scene, c.Earlier, action.Host{
		Say: func(_ context.Context, n chat.Notice) error {
			mu.Lock()
			defer mu.Unlock()
			if c.Unsayable == nil {
				m.Said = append(m.Said, n)
			}
			return c.Unsayable
		},
		Ask: func(_ context.Context, q chat.Question) (<-chan chat.Question, error) {
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
			} else if n < len(c.Words) {
				q.Choice, q.By, q.Options = len(q.Options), q.For[0], append(q.Options, c.Words[n])
				answered <- q
			}
			close(answered)
			return answered, nil
		},
		Park: func(_ context.Context, w action.Wait) error {
			if c.Unaskable != nil {
				return c.Unaskable
			}
			m.Waits = &w
			return chat.ErrParked
		},
		Chose: func(context.Context, string) (chat.Question, bool, error) {
			return chat.Question{Options: []string{c.Consent}, By: c.Scene.Message.Author}, c.Waited && c.Consent != "", nil
		},
		Waited: func(string) bool { return c.Waited },
	})
	if asks, ok := a.(action.Consenting); ok {
		if _, m.Refused, m.Err = asks.Consent(t.Context(), call); m.Refused != "" || m.Err != nil {
			m.Shown = answer.View().History
			return m
		}
	}
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
