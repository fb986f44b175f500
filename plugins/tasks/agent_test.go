package tasks

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/internal/quiethours"
	"parley/internal/require"
)

// An agent writes to its own threads, within its rate. In quiet hours a message waits, also one that is replaced.
func TestPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeGateway{state: map[string]string{}}
		hours, err := quiethours.Parse("22:00-07:00", time.UTC)
		require.NoError(t, err)
		tasks := New(Options{Store: w, Agents: []Agent{{"mine", "right"}, {"other", "token"}}, Quiet: hours})
		require.NoError(t, tasks.Plugin().Init(t.Context(), action.Services{State: w, Task: w.task, Update: w.task}))
		if !tasks.AuthorizedAgent("mine", "right") || tasks.AuthorizedAgent("other", "right") || tasks.Authorized("mine", "right") {
			t.Error("the token is that of another agent, or of a hook")
		}
		for _, c := range []struct{ name, thread string }{{"mine", "unknown"}, {"mine", ""}, {"other", "known"}, {"none", "known"}} {
			if _, err := tasks.Post(t.Context(), c.name, c.thread, "", chat.Task{Key: "k", Text: "Hi"}); !errors.Is(err, chat.ErrNotFound) {
				t.Errorf("%s in %q: %v", c.name, c.thread, err)
			}
		}
		for _, job := range []string{"", "", "job"} {
			require.Value(tasks.Post(t.Context(), "mine", "known", job, chat.Task{Key: "k", Text: "Hi"}))(t)
		}
		if len(w.done) != 2 {
			t.Fatalf("accepted are %+v; want 2", w.done)
		}
		for _, got := range w.done {
			if got.By != "hook/agent/mine" || !got.By.Automatic() || !got.Speak || time.Until(got.NotBefore) != 7*time.Hour {
				t.Errorf("the task is %+v", got)
			}
		}
		for range agentPerMinute {
			_, err = tasks.Post(t.Context(), "mine", "known", "", chat.Task{Text: "Hi"})
		}
		if !errors.Is(err, chat.ErrTooMany) {
			t.Errorf("many in a minute: %v", err)
		}
	})
}
