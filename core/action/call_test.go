package action_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"parley/core/action"
	"parley/core/answer"
)

// Long work shows how it goes, and says more than one thing.
func TestCallShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a answer.Answer
		a.Apply(answer.Change{Kind: answer.Text, Text: "Let me see."})
		c := action.NewCall(&a, "READ", json.RawMessage(`{"path":"a.txt"}`), action.TurnContext{}, nil, nil)
		c.Append("one") // the first one stands below what there is, as any
		c.Append(", two")
		c.Short("50 %\nof it")
		c.Update("three")
		c.Append(" four")
		v := a.View()
		if got := v.Text(); got != "Let me see.\n\nthree four" {
			t.Errorf(`%q; want "Let me see.\n\nthree four"`, got)
		}
		if diff := cmp.Diff([]string{"one", ", two", "three", "four"}, v.History); diff != "" {
			t.Error(diff)
		}
		want := answer.Tool{Name: "READ", Stage: answer.StageRunning, Parameters: `{"path":"a.txt"}`, CompactParams: "a.txt", ShortResult: "50 % of it"}
		if diff := cmp.Diff(want, v.Segments[1].Tool); diff != "" {
			t.Error(diff)
		}
		(&action.Call{}).Update("not shown")
	})
}
