package coretest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"parley/core"
)

// storeModelCheck does the same random calls to s and to a model, and wants the same of both.
func storeModelCheck(t *testing.T, s core.Store) {
	model := newStoreModel()
	rounds := 0
	rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) { // without its Deadline, which no bubble has
		rounds++
		p := &pair{t, s, model, core.RoomID(fmt.Sprintf("room %d", rounds))}
		rt.Repeat(map[string]func(*rapid.T){
			"accept": p.accept, "start": p.start, "note": p.note, "finish": p.finish, "beat": p.beat,
			"wait": func(rt *rapid.T) { time.Sleep(time.Duration(rapid.IntRange(1, 5).Draw(rt, "seconds")) * time.Second) },
			"":     p.compare,
		})
	})
}

// pair is a store and its model, and the room in which they are compared.
type pair struct {
	t     *testing.T
	store core.Store
	model *storeModel
	room  core.RoomID
}

var owners = []string{"owner 1", "owner 2"}

func (p *pair) id(rt *rapid.T) core.RunID {
	return core.RunID(fmt.Sprintf("%s#%d", p.room, rapid.IntRange(1, 6).Draw(rt, "turn")))
}

func (p *pair) epoch(rt *rapid.T, id core.RunID) core.Epoch {
	r, err := p.model.Run(p.t.Context(), id)
	if err != nil || rapid.IntRange(0, 3).Draw(rt, "stale") == 0 {
		return core.Epoch(rapid.IntRange(0, 3).Draw(rt, "epoch"))
	}
	return r.Epoch
}

// agree compares what both have answered. Of errors, what they are is compared, not their words.
func (p *pair) agree(rt *rapid.T, what string, got, want any, gotErr, wantErr error) {
	sentinel := slices.Contains([]error{core.ErrBusy, core.ErrLost, core.ErrNotFound}, wantErr)
	if (gotErr == nil) != (wantErr == nil) || sentinel && !errors.Is(gotErr, wantErr) {
		rt.Fatalf("%s: the error is %v; want: %v", what, gotErr, wantErr)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (p *pair) accept(rt *rapid.T) {
	in := message(p.room, rapid.IntRange(0, 15).Draw(rt, "message"))
	in.Text = rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "text")
	in.At = time.Now()
	j := core.JoinRule{
		NoRun:   rapid.IntRange(0, 4).Draw(rt, "no run") == 0,
		Window:  time.Duration(rapid.IntRange(0, 3).Draw(rt, "window")) * time.Second,
		Collect: rapid.Bool().Draw(rt, "collect"),
	}
	got, gotErr := p.store.Accept(p.t.Context(), in, j)
	want, wantErr := p.model.Accept(p.t.Context(), in, j)
	p.agree(rt, "Accept", got, want, gotErr, wantErr)
}

func (p *pair) start(rt *rapid.T) {
	id, owner := p.id(rt), rapid.SampledFrom(owners).Draw(rt, "owner")
	got, gotErr := p.store.Start(p.t.Context(), id, owner)
	want, wantErr := p.model.Start(p.t.Context(), id, owner)
	p.agree(rt, "Start", got, want, gotErr, wantErr)
}

func (p *pair) note(rt *rapid.T) {
	id := p.id(rt)
	epoch := p.epoch(rt, id)
	n := core.Note{
		Text:   rapid.SampledFrom([]string{"", "so", "so far"}).Draw(rt, "text"),
		Acting: rapid.SampledFrom([]string{"", "call"}).Draw(rt, "acting"),
		Shown: rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) core.Shown {
			return core.Shown{Part: rapid.IntRange(0, 3).Draw(rt, "part"),
				ID:   rapid.SampledFrom([]string{"", "m1", "m2"}).Draw(rt, "id"),
				Gone: rapid.Bool().Draw(rt, "gone")}
		}), 0, 3).Draw(rt, "shown"),
	}
	if rapid.Bool().Draw(rt, "verdict") {
		n.Verdict = &core.Verdict{Outcome: done, Text: n.Text, History: []string{n.Acting}}
	}
	p.agree(rt, "Note", nil, nil, p.store.Note(p.t.Context(), id, epoch, n), p.model.Note(p.t.Context(), id, epoch, n))
}

func (p *pair) finish(rt *rapid.T) {
	id := p.id(rt)
	epoch := p.epoch(rt, id)
	var out core.Memory
	if rapid.Bool().Draw(rt, "says something") {
		out = answer(core.Run{ID: id, Room: p.room}, "an answer")
	}
	o := core.Outcome{Status: rapid.SampledFrom([]core.Status{core.Completed, core.Stopped, ""}).Draw(rt, "status")}
	p.agree(rt, "Finish", nil, nil,
		p.store.Finish(p.t.Context(), id, epoch, o, out), p.model.Finish(p.t.Context(), id, epoch, o, out))
}

func (p *pair) beat(rt *rapid.T) {
	owner := rapid.SampledFrom(owners).Draw(rt, "owner")
	until := time.Now().Add(time.Duration(rapid.IntRange(0, 5).Draw(rt, "seconds")) * time.Second)
	p.agree(rt, "Beat", nil, nil, p.store.Beat(p.t.Context(), owner, until), p.model.Beat(p.t.Context(), owner, until))
}

// compare looks at all that can be seen of the room.
func (p *pair) compare(rt *rapid.T) {
	ctx := p.t.Context()
	upTo := core.ResponseID(rapid.IntRange(0, 6).Draw(rt, "up to"))
	limit := rapid.IntRange(0, 20).Draw(rt, "limit")
	gotSaid, gotErr := p.store.Recent(ctx, p.room, upTo, limit)
	wantSaid, wantErr := p.model.Recent(ctx, p.room, upTo, limit)
	p.agree(rt, "Recent", gotSaid, wantSaid, gotErr, wantErr)

	gotOpen, gotErr := p.store.OpenRuns(ctx, p.room)
	wantOpen, wantErr := p.model.OpenRuns(ctx, p.room)
	p.agree(rt, "OpenRuns", gotOpen, wantOpen, gotErr, wantErr)

	id := p.id(rt)
	gotRun, gotErr := p.store.Run(ctx, id)
	wantRun, wantErr := p.model.Run(ctx, id)
	p.agree(rt, "Run", gotRun, wantRun, gotErr, wantErr)
}
