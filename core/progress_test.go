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
