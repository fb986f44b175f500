package generate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
	"parley/internal/subtest"
)

// notes is a journal in memory.
type notes struct{ all []chat.Note }

func (n *notes) Settle() error { return nil }
func (n *notes) Note(_ context.Context, one chat.Note) error {
	n.all = append(n.all, one)
	return nil
}
func (n *notes) Remember(context.Context, chat.Memory) error { return nil }

// remote returns the pieces of a whole call of the model's own side.
func remote(id, name string) []llm.Chunk {
	return []llm.Chunk{
		{Remote: &llm.RemoteCall{ID: id, Name: name}}, {Remote: &llm.RemoteCall{ID: id, Parameters: `{"q":`}},
		{Remote: &llm.RemoteCall{ID: id, Parameters: `"x"}`}}, {Remote: &llm.RemoteCall{ID: id, Running: true}},
		{Remote: &llm.RemoteCall{ID: id, Ended: true, Result: "3 hits"}},
	}
}

// Calls of the model's own side are shown where they are made, between the texts, and are journaled like writing ones.
func TestRemoteCalls(t *testing.T) {
	model := &script{rounds: [][]llm.Chunk{slices.Concat(
		[]llm.Chunk{{Text: "Let me look."}}, remote("a", "search"), remote("b", "search"), []llm.Chunk{{Text: "Found "}, {Text: "it."}, {Finish: llm.FinishStop}})}}
	a, journal := new(answer.Answer), new(notes)
	require.NoError(t, writeWith(t, []llm.Named{{Name: "a", Model: model}}, a, "", journal))
	v := a.View()
	var got []string
	for _, s := range v.Segments {
		got = append(got, s.Text+s.Tool.Name)
		if s.Call != "" && (s.Tool.Stage != answer.StageEnd || !s.Tool.Success || s.Tool.Result != "3 hits" || s.Tool.Parameters != `{"q":"x"}`) {
			t.Errorf("%+v", s.Tool)
		}
	}
	if !slices.Equal(got, []string{"Let me look.", "search", "search", "Found it."}) {
		t.Errorf("%q", got)
	}
	if n := journal.all; len(n) != 4 || n[0].Acting != "a" || n[0].Text != "Let me look." || n[1].Acted != "a" || n[2].Acting != "b" {
		t.Errorf("%+v", n)
	}
}

// What the model's own side has done is not done again: neither by another attempt nor by another model. Calls that are open end.
func TestRemoteCallsAreNotRepeated(t *testing.T) {
	said := []llm.Chunk{{Text: "It is noon."}, {Finish: llm.FinishStop}}
	open := remote("a", "search")[:4]
	for name, c := range map[string]struct {
		first []llm.Chunk
		err   error
		want  string // the text
		end   string // of the call
	}{
		"in a call":           {slices.Concat([]llm.Chunk{{Text: "Let me look."}}, open), errDown, "Let me look.", "The agent failed before this was complete."},
		"after a call":        {remote("a", "search"), errDown, "", ""},
		"without a word":      {slices.Concat(remote("a", "search"), []llm.Chunk{{Finish: llm.FinishStop}}), nil, "", ""},
		"without a result":    {slices.Concat(open, said), nil, "It is noon.", "It reported no result."},
		"when it is too much": {slices.Concat(remote("a", "x")[:1], []llm.Chunk{{Remote: &llm.RemoteCall{ID: "a", Parameters: strings.Repeat("x", 1<<20)}}}), nil, "", "The agent failed before this was complete."},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			then := &script{rounds: [][]llm.Chunk{said}}
			a := new(answer.Answer)
			models := []llm.Named{{Name: "a", Model: &script{then: c.first, err: c.err}, Fallback: []string{"b"}}, {Name: "b", Model: then}}
			err := writeWith(t, models, a, "", new(notes))
			v := a.View()
			var call answer.Tool
			for _, s := range v.Segments {
				if s.Call != "" {
					call = s.Tool
				}
			}
			if v.Text() != c.want || len(then.asked) > 0 || call.Stage != answer.StageEnd || call.Error != c.end {
				t.Errorf("%q after %d more calls; %+v, %v", v.Text(), len(then.asked), call, err)
			}
			if c.err != nil && !errors.Is(err, c.err) || name == "without a word" && !errors.Is(err, chat.ErrNothingToSay) {
				t.Error(err)
			}
		}))
	}
}
