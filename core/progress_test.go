package core_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core"
)

func TestProgress(t *testing.T) {
	for name, c := range map[string]struct {
		play func(p *core.Progress)
		want []string // what people see, in turn
	}{
		"what is soon over shows only its end": {func(p *core.Progress) {
			p.Update("looking")
			time.Sleep(299 * time.Millisecond)
			p.Complete("found")
		}, []string{"found"}},
		"what takes longer shows how it goes": {func(p *core.Progress) {
			p.Update("looking")
			time.Sleep(200 * time.Millisecond)
			p.Update("searching")
			time.Sleep(200 * time.Millisecond)
			p.Update("setting up")
			p.Complete("playing")
		}, []string{"searching", "setting up", "playing"}},
		"what is important shows at once": {func(p *core.Progress) {
			p.Update("looking")
			p.Important("this costs money")
			p.Update("buying")
			p.Complete("bought")
		}, []string{"this costs money", "buying", "bought"}},
		"nothing after the end": {func(p *core.Progress) {
			p.Update("looking")
			p.Fail("There is none.")
			p.Update("looking on")
			p.Important("really")
			p.Complete("found")
			time.Sleep(time.Second)
		}, []string{"⚠️ There is none."}},
		"an end alone":          {func(p *core.Progress) { p.Complete("done") }, []string{"done"}},
		"no end: the last word": {func(p *core.Progress) { p.Update("looking"); time.Sleep(time.Second) }, []string{"looking"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var a core.Answer
				c.play(core.NewProgress(core.NewCall(&a, "DO", nil, core.Scene{}, nil, nil)))
				synctest.Wait()
				if diff := cmp.Diff(c.want, a.View().History); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Where nothing is shown before the end, what is important is told, and nothing else; however slow the reader is.
func TestImportantIsNotLost(t *testing.T) {
	var a core.Answer
	p := core.NewProgress(core.NewCall(&a, "DO", nil, core.Scene{}, nil, nil))
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
	if got := a.View().Text(); got != "bought" {
		t.Errorf("at last it says %q", got)
	}
}
