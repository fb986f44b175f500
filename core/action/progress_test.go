package action_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/subtest"
)

func TestProgress(t *testing.T) {
	for name, c := range map[string]struct {
		play func(p *action.Progress)
		want []string // what people see, in turn
	}{
		"what is soon over shows only its end": {func(p *action.Progress) {
			p.Update("looking")
			time.Sleep(299 * time.Millisecond)
			p.Complete("found")
		}, []string{"found"}},
		"what takes longer shows how it goes": {func(p *action.Progress) {
			p.Update("looking")
			time.Sleep(200 * time.Millisecond)
			p.Update("searching")
			time.Sleep(200 * time.Millisecond)
			p.Update("setting up")
			p.Complete("playing")
		}, []string{"searching", "setting up", "playing"}},
		"what is important shows at once": {func(p *action.Progress) {
			p.Update("looking")
			p.Important("this costs money")
			p.Update("buying")
			p.Complete("bought")
		}, []string{"this costs money", "buying", "bought"}},
		"nothing after the end": {func(p *action.Progress) {
			p.Update("looking")
			p.Fail("There is none.")
			p.Update("looking on")
			p.Important("really")
			p.Complete("found")
			time.Sleep(time.Second)
		}, []string{"⚠️ There is none."}},
		"an end alone":          {func(p *action.Progress) { p.Complete("done") }, []string{"done"}},
		"no end: the last word": {func(p *action.Progress) { p.Update("looking"); time.Sleep(time.Second) }, []string{"looking"}},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			var a answer.Answer
			c.play(action.NewProgress(action.NewCall(&a, "DO", nil, action.TurnContext{}, nil, nil)))
			synctest.Wait()
			if diff := cmp.Diff(c.want, a.View().History); diff != "" {
				t.Error(diff)
			}
		}))
	}
}

// Where nothing is shown before the end, what is important is told, and nothing else; however slow the reader is.
func TestImportantIsNotLost(t *testing.T) {
	var a answer.Answer
	p := action.NewProgress(action.NewCall(&a, "DO", nil, action.TurnContext{}, nil, nil))
	p.Important("this costs money")
	p.Update("buying")
	p.Important("one is left")
	p.Update("paying")
	p.Complete("bought")
	var told []string
	cs, _ := a.Since(0)
	for _, c := range cs {
		if c.Important != "" {
			told = append(told, c.Important)
		}
	}
	if diff := cmp.Diff([]string{"this costs money", "one is left"}, told); diff != "" {
		t.Error(diff)
	}
	for range 100 {
		p.Important("again")
	}
	if v := a.View(); len(v.Important) != 2 {
		t.Errorf("after the end it has %q; want 2", v.Important)
	}
	var long answer.Answer
	for range 100 {
		long.Apply(answer.Change{Kind: answer.Callback, Call: "c", Text: "again", Important: "again"})
	}
	if n := len(long.View().Important); n != 20 {
		t.Errorf("%d updates of one answer are sent; want 20", n)
	}
	if got := a.View().Text(); got != "bought" {
		t.Errorf(`at last it says %q; want "bought"`, got)
	}
}

// What is asked is not overwritten by what was told before, and gives way to what is told after it.
func TestProgressChoose(t *testing.T) {
	for name, c := range map[string]struct {
		before time.Duration // after the first update
		chosen time.Duration // after the question; 0 is never
		want   []string
	}{
		"while nothing is shown yet":  {100 * time.Millisecond, time.Second, []string{"Which?", "Which?\n\n→ **b**", "taking b", "taken"}},
		"just before it is shown":     {300*time.Millisecond - 1, time.Second, []string{"Which?", "Which?\n\n→ **b**", "taking b", "taken"}},
		"while the first is shown":    {400 * time.Millisecond, time.Second, []string{"looking", "Which?", "Which?\n\n→ **b**", "taking b", "taken"}},
		"chosen before that is shown": {100 * time.Millisecond, time.Millisecond, []string{"Which?", "Which?\n\n→ **b**", "taking b", "taken"}},
		"no choice":                   {100 * time.Millisecond, 0, []string{"Which?", "⚠️ No one wants any."}},
	} {
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) {
			var a answer.Answer
			p := action.NewProgress(action.NewCall(&a, "DO", nil, action.TurnContext{}, nil, func(_ context.Context, q chat.Question) (<-chan chat.Question, error) {
				answered := make(chan chat.Question, 1)
				time.AfterFunc(max(c.chosen, time.Millisecond), func() {
					if q.Choice = 1; c.chosen > 0 {
						answered <- q
					}
					close(answered)
				})
				return answered, nil
			}))
			p.Update("looking")
			time.Sleep(c.before)
			switch q, err := p.Choose(t.Context(), "Which?", chat.Question{Options: []string{"a", "b"}}); {
			case err == nil:
				p.Update("taking " + q.Options[q.Choice])
				p.Complete("taken")
			case errors.Is(err, chat.ErrUnanswered) && c.chosen == 0:
				p.Fail("No one wants any.")
			default:
				t.Error(err)
			}
			if _, err := p.Choose(t.Context(), "Another?", chat.Question{Options: []string{"a"}}); err == nil {
				t.Error("Choose succeeded after the end of the call; want an error")
			}
			time.Sleep(time.Second)
			if diff := cmp.Diff(c.want, a.View().History); diff != "" {
				t.Error(diff)
			}
		}))
	}
}

// The end brings the files; a failure has none.
func TestProgressFiles(t *testing.T) {
	file := llm.File{Name: "a.pdf", Type: "application/pdf", Data: []byte("a")}
	for name, c := range map[string]struct {
		end  func(p *action.Progress)
		want []llm.File
	}{
		"complete":           {func(p *action.Progress) { p.Complete("there", file) }, []llm.File{file}},
		"complete, then not": {func(p *action.Progress) { p.Complete("there", file); p.Fail("gone") }, []llm.File{file}},
		"fail":               {func(p *action.Progress) { p.Fail("gone"); p.Complete("there", file) }, nil},
	} {
		var a answer.Answer
		c.end(action.NewProgress(action.NewCall(&a, "DO", nil, action.TurnContext{}, nil, nil)))
		if diff := cmp.Diff(c.want, a.View().Files()); diff != "" {
			t.Errorf("%s: %s; want none", name, diff)
		}
	}
}
