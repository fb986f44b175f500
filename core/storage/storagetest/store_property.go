package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/core/storage"
)

// storeModelCheck does the same random calls to s and to a model, and wants the same of both.
func storeModelCheck(t *testing.T, s storage.Store) {
	model := newStoreModel(failUnmodeled)
	rounds := 0
	rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) { // without its Deadline, which no bubble has
		rounds++
		p := &pair{t, s, model, chat.RoomID(fmt.Sprintf("room %d", rounds))}
		rt.Repeat(map[string]func(*rapid.T){
			"accept": p.accept, "start": p.start, "note": p.note, "attempt": p.attempt, "finish": p.finish, "beat": p.beat, "leave": p.leave, "retry": p.retry, "park": p.park, "wake": p.wake,
			"wait":   func(rt *rapid.T) { time.Sleep(time.Duration(rapid.IntRange(1, 5).Draw(rt, "seconds")) * time.Second) },
			"revise": p.revise, "forget": p.forget, "clear": p.clear, "reopen": p.reopen,
			"remember": p.remember, "recent": p.recent, "expire": p.expire, "run": p.run, "open runs": p.openRuns, "attention": p.attention,
		})
		p.recent(rt)
		p.openRuns(rt)
	})
}

// pair is a store and its model, and the room in which they are compared.
type pair struct {
	t     *testing.T
	store storage.Store
	model *storeModel
	room  chat.RoomID
}

var owners = []string{"owner 1", "owner 2"}

func (p *pair) id(rt *rapid.T) chat.RunID {
	return chat.RunID(fmt.Sprintf("%s#%d", p.room, rapid.IntRange(1, 6).Draw(rt, "turn")))
}

func (p *pair) epoch(rt *rapid.T, id chat.RunID) chat.Epoch {
	r, err := p.model.Run(p.t.Context(), id)
	if err != nil || rapid.IntRange(0, 3).Draw(rt, "stale") == 0 {
		return chat.Epoch(rapid.IntRange(0, 3).Draw(rt, "epoch"))
	}
	return r.Epoch
}

// agree compares what both have answered. Of errors, what they are is compared, not their words.
func (p *pair) agree(rt *rapid.T, what string, got, want any, gotErr, wantErr error) {
	sentinel := slices.Contains([]error{chat.ErrBusy, answer.ErrLost, chat.ErrNotFound}, wantErr)
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
	in.Author = rapid.SampledFrom([]chat.EntityID{"ada", "bob"}).Draw(rt, "author")
	j := chat.JoinRule{
		NoRun:    rapid.IntRange(0, 4).Draw(rt, "no run") == 0,
		JoinOnly: rapid.IntRange(0, 4).Draw(rt, "join only") == 0,
		Most:     time.Duration(rapid.IntRange(0, 4).Draw(rt, "most")) * time.Second,
		Window:   time.Duration(rapid.IntRange(0, 3).Draw(rt, "window")) * time.Second,
		Collect:  rapid.Bool().Draw(rt, "collect"),
		Kind:     rapid.SampledFrom([]chat.RunKind{chat.RunReply, chat.RunDecide, chat.RunNotify, chat.RunCommand}).Draw(rt, "duty"),
		Limit:    rapid.IntRange(0, 3).Draw(rt, "limit"),
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
	n := chat.Note{
		Text:   rapid.SampledFrom([]string{"", "so", "so far"}).Draw(rt, "text"),
		Acting: rapid.SampledFrom([]string{"", "call"}).Draw(rt, "acting"),
		Risk:   rapid.SampledFrom([]string{"", "", "a tool"}).Draw(rt, "risk"),
		Shown: rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) chat.Shown {
			return chat.Shown{Part: rapid.IntRange(0, 3).Draw(rt, "part"),
				ID:   rapid.SampledFrom([]string{"", "m1", "m2"}).Draw(rt, "id"),
				Last: rapid.Bool().Draw(rt, "last"),
				Sent: rapid.SampledFrom([]string{"", "h1", "h2"}).Draw(rt, "sent")}
		}), 0, 3).Draw(rt, "shown"),
	}
	if rapid.Bool().Draw(rt, "verdict") {
		n.Verdict = &chat.Verdict{Outcome: done, Text: n.Text, History: []string{n.Acting}}
	}
	p.agree(rt, "Note", nil, nil, p.store.Note(p.t.Context(), id, epoch, n), p.model.Note(p.t.Context(), id, epoch, n))
}

func (p *pair) attempt(rt *rapid.T) {
	id := p.id(rt)
	epoch := p.epoch(rt, id)
	var message []quota.Charge
	if rapid.Bool().Draw(rt, "counted") {
		message = append(message, quota.Charge{Bucket: string(p.room), Cost: quota.Cost{Messages: 1}, Max: quota.Cost{Messages: 2}})
	}
	got, gotErr := p.store.Attempt(p.t.Context(), id, epoch, day, message...)
	want, wantErr := p.model.Attempt(p.t.Context(), id, epoch, day, message...)
	p.agree(rt, "Attempt", got, want, gotErr, wantErr)
}

func (p *pair) park(rt *rapid.T) {
	id, until := p.id(rt), time.Now().Add(time.Duration(rapid.IntRange(0, 5).Draw(rt, "until"))*time.Second)
	epoch, with := p.epoch(rt, id), []byte(rapid.SampledFrom([]string{"", "go on"}).Draw(rt, "continuation"))
	w := chat.Wait{Until: until, Continuation: with, Lasting: rapid.Bool().Draw(rt, "lasting")}
	p.agree(rt, "Park", nil, nil, p.store.Park(p.t.Context(), id, epoch, w), p.model.Park(p.t.Context(), id, epoch, w))
	got, gotErr := p.store.Continuation(p.t.Context(), id)
	want, wantErr := p.model.Continuation(p.t.Context(), id)
	p.agree(rt, "Continuation", got, want, gotErr, wantErr)
}

func (p *pair) wake(rt *rapid.T) {
	id, end := p.id(rt), rapid.SampledFrom([]answer.Status{"", answer.Stopped, answer.Superseded}).Draw(rt, "end")
	p.agree(rt, "Wake", nil, nil, p.store.Wake(p.t.Context(), id, end), p.model.Wake(p.t.Context(), id, end))
}

func (p *pair) finish(rt *rapid.T) {
	id := p.id(rt)
	epoch := p.epoch(rt, id)
	var out chat.Memory
	if rapid.Bool().Draw(rt, "says something") {
		out = answerOf(chat.Run{ID: id, Room: p.room}, "an answer")
	}
	o := answer.Outcome{Status: rapid.SampledFrom([]answer.Status{answer.Completed, answer.Stopped, answer.Failed, ""}).Draw(rt, "status")}
	if o.Status == answer.Failed {
		o.Failure = llm.SetAside
	}
	p.agree(rt, "Finish", nil, nil,
		p.store.Finish(p.t.Context(), id, epoch, o, out), p.model.Finish(p.t.Context(), id, epoch, o, out))
}

func (p *pair) beat(rt *rapid.T) {
	owner := rapid.SampledFrom(owners).Draw(rt, "owner")
	until := time.Now().Add(time.Duration(rapid.IntRange(0, 5).Draw(rt, "seconds")) * time.Second)
	p.agree(rt, "RenewLease", nil, nil, p.store.RenewLease(p.t.Context(), owner, until), p.model.RenewLease(p.t.Context(), owner, until))
}

func (p *pair) leave(rt *rapid.T) {
	owner := rapid.SampledFrom(owners).Draw(rt, "owner")
	p.agree(rt, "Leave", nil, nil, p.store.Leave(p.t.Context(), owner), p.model.Leave(p.t.Context(), owner))
}

func (p *pair) retry(rt *rapid.T) {
	id := p.id(rt)
	p.agree(rt, "RetryRun", nil, nil, p.store.RetryRun(p.t.Context(), id), p.model.RetryRun(p.t.Context(), id))
}

// memory is the id of a message, or of an answer.
func (p *pair) memory(rt *rapid.T) chat.MemoryID {
	if rapid.IntRange(0, 3).Draw(rt, "of an answer") == 0 {
		return answerOf(chat.Run{ID: p.id(rt)}, "").ID
	}
	return message(p.room, rapid.IntRange(0, 15).Draw(rt, "message")).ID
}

func (p *pair) revise(rt *rapid.T) {
	id, text := p.memory(rt), rapid.SampledFrom([]string{"two", "three"}).Draw(rt, "text")
	p.agree(rt, "Revise", nil, nil, p.store.Revise(p.t.Context(), id, text, nil), p.model.Revise(p.t.Context(), id, text, nil))
}

func (p *pair) remember(rt *rapid.T) {
	id := p.id(rt)
	m := chat.Memory{ID: chat.MemoryID("beside/" + id), Room: p.room, Kind: chat.ActionResult, Text: "found"}
	p.agree(rt, "Remember", nil, nil, p.store.Remember(p.t.Context(), id, m), p.model.Remember(p.t.Context(), id, m))
}

func (p *pair) forget(rt *rapid.T) {
	id := p.memory(rt)
	p.agree(rt, "Forget", nil, nil, p.store.Forget(p.t.Context(), id), p.model.Forget(p.t.Context(), id))
}

func (p *pair) clear(rt *rapid.T) {
	if rapid.IntRange(0, 4).Draw(rt, "really") > 0 {
		return // or there would never be much to compare
	}
	if rapid.Bool().Draw(rt, "entirely") {
		got, gotErr := p.store.ClearEntirely(p.t.Context(), p.room, "ada")
		want, wantErr := p.model.ClearEntirely(p.t.Context(), p.room, "ada")
		p.agree(rt, "ClearEntirely", got, want, gotErr, wantErr)
		return
	}
	got, gotErr := p.store.Clear(p.t.Context(), p.room)
	want, wantErr := p.model.Clear(p.t.Context(), p.room)
	p.agree(rt, "Clear", got, want, gotErr, wantErr)
}

func (p *pair) expire(rt *rapid.T) {
	before := chat.Expiry{Marks: time.Now().Add(-time.Duration(rapid.IntRange(0, 5).Draw(rt, "age")) * time.Second)}
	_, wantErr := p.model.Expire(p.t.Context(), before)
	more, gotErr := p.store.Expire(p.t.Context(), before)
	for more && gotErr == nil {
		more, gotErr = p.store.Expire(p.t.Context(), before)
	}
	p.agree(rt, "Expire", nil, nil, gotErr, wantErr)
	in := message(p.room, rapid.IntRange(0, 15).Draw(rt, "message")).Memory
	got, gotErr := p.store.Known(p.t.Context(), in)
	want, wantErr := p.model.Known(p.t.Context(), in)
	p.agree(rt, "Known", got, want, gotErr, wantErr)
}

func (p *pair) reopen(rt *rapid.T) {
	id := p.id(rt)
	p.agree(rt, "Reopen", nil, nil, p.store.Reopen(p.t.Context(), id), p.model.Reopen(p.t.Context(), id))
	asked := p.memory(rt)
	got, gotErr := p.store.RunOf(p.t.Context(), asked)
	want, wantErr := p.model.RunOf(p.t.Context(), asked)
	p.agree(rt, "RunOf", got, want, gotErr, wantErr)
}

func (p *pair) recent(rt *rapid.T) {
	upTo := chat.ResponseID(rapid.IntRange(0, 6).Draw(rt, "up to"))
	limit := rapid.IntRange(0, 20).Draw(rt, "limit")
	kind := rapid.SampledFrom([]chat.MemoryKind{chat.Said, chat.ActionResult}).Draw(rt, "kind")
	got, gotErr := p.store.Recent(p.t.Context(), p.room, kind, upTo, limit)
	want, wantErr := p.model.Recent(p.t.Context(), p.room, kind, upTo, limit)
	p.agree(rt, "Recent", got, want, gotErr, wantErr)
}

func (p *pair) run(rt *rapid.T) {
	id := p.id(rt)
	got, gotErr := p.store.Run(p.t.Context(), id)
	want, wantErr := p.model.Run(p.t.Context(), id)
	p.agree(rt, "Run", got, want, gotErr, wantErr)
}

func (p *pair) attention(rt *rapid.T) {
	a := rapid.SampledFrom([]chat.Attention{chat.Normal, chat.Ambient, chat.Muted, chat.Quiet}).Draw(rt, "attention")
	p.agree(rt, "SetAttention", nil, nil, p.store.SetAttention(p.t.Context(), p.room, a), p.model.SetAttention(p.t.Context(), p.room, a))
	got, gotErr := p.store.Attention(p.t.Context(), p.room)
	want, wantErr := p.model.Attention(p.t.Context(), p.room)
	p.agree(rt, "Attention", got, want, gotErr, wantErr)
}

func (p *pair) openRuns(rt *rapid.T) {
	got, gotErr := p.store.OpenRuns(p.t.Context(), p.room)
	want, wantErr := p.model.OpenRuns(p.t.Context(), p.room)
	p.agree(rt, "OpenRuns", got, want, gotErr, wantErr)
}
