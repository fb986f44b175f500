package storagetest

import (
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/require"
)

func deathChecks() []storeCheck {
	return []storeCheck{
		{"crashes of holders are counted; planned ends and runs with a verdict are not (IN-18)", deathsCounted},
		{"a crash is blamed on a run that was alone, at risk or a suspect (IN-18)", deathsBlamed},
		{"a holder that starts its run again has not crashed", deathsOfOneself},
		{"a holder with an expired lease has not crashed when it starts a run (IN-18)", deathsOfLate},
		{"attempts are counted unless the run is lost (IN-18)", attemptsCounted},
		{"a reopened run begins without crashes and attempts", deathsReopened},
		{"abandoned runs are listed newest first, and can be retried (IN-18)", setAsideRetried},
		{"a run is retried once unless its state forbids it", setAsideRefused},
		{"a retried run claims its room even if it is not the newest", setAsideOlder},
	}
}

// dies has the next owner hold r for a minute, and returns r as it is when that one is dead.
func (s store) dies(r chat.Run, owner string) chat.Run {
	s.t.Helper()
	s.beat(owner, time.Minute)
	s.start(r.ID, owner)
	time.Sleep(time.Minute)
	return s.reread(r.ID)
}

func (s store) reread(id chat.RunID) chat.Run {
	s.t.Helper()
	r := require.Value(s.Run(s.t.Context(), id))(s.t)
	return r
}

func deathsCounted(t *testing.T, s store) {
	r := s.opened("room", 1)
	s.same("deaths before it was started", r.Deaths, 0)
	s.same("deaths", s.dies(r, "first").Deaths, 1)
	s.same("deaths of a run that is not started", s.openRuns("room")[0].Deaths, 1)
	s.beat("second", time.Minute)
	s.same("deaths while the next holder lives", s.start(r.ID, "second").Deaths, 1)
	s.same("deaths while the next holder lives", s.reread(r.ID).Deaths, 1)
	s.must(s.Leave(t.Context(), "second"))
	s.must(s.Leave(t.Context(), "unknown"))
	s.same("the run of an owner that left", s.reread(r.ID).Held, true)
	s.beat("second", time.Minute)
	time.Sleep(time.Minute)
	s.same("deaths after a planned end", s.reread(r.ID).Deaths, 1)
	s.same("deaths after two", s.dies(r, "third").Deaths, 2)
	held := s.start(r.ID, "without heartbeat")
	s.same("deaths, with a holder that never beat", s.reread(r.ID).Deaths, 2)
	s.note(held, chat.Note{Verdict: &chat.Verdict{Outcome: done, Text: "the last word"}})
	s.same("deaths of a run with a verdict", s.dies(r, "fourth").Deaths, 2)
	last := s.start(r.ID, "fifth")
	s.finish(last, answerOf(last, "the last word"))
	s.same("the run at its end", s.reread(r.ID).Deaths, last.Deaths)
}

func deathsBlamed(t *testing.T, s store) {
	die := func(owner string, at ...chat.Run) (all []int) {
		s.beat(owner, time.Minute)
		for _, r := range at {
			held := s.start(r.ID, owner)
			s.same("the crashes blamed on the started run", held.Blamed, s.reread(r.ID).Blamed)
			if r.Room == "at risk" {
				s.note(held, chat.Note{Text: "so far", Risk: "tool"})
			}
		}
		time.Sleep(time.Minute)
		s.beat("heir of "+owner, time.Hour)
		for _, r := range at {
			all = append(all, s.start(r.ID, "heir of "+owner).Blamed)
		}
		s.must(s.Leave(t.Context(), "heir of "+owner))
		s.beat("heir of "+owner, 0)
		return all
	}
	a, b := s.opened("room", 1), s.opened("other", 1)
	s.same("two together", die("first", a, b), []int{0, 0})
	s.same("one alone", die("second", a), []int{1})
	s.same("at the third death it was a suspect", die("third", a, b), []int{2, 0})
	c, d := s.opened("at risk", 1), s.opened("another", 1)
	s.same("one is at risk", die("fourth", c, d), []int{1, 0})
	held := s.start(c.ID, "fifth")
	s.note(held, chat.Note{Risk: "tool"})
	s.note(held, chat.Note{Text: "more"})
	s.beat("fifth", time.Minute)
	s.start(d.ID, "fifth")
	time.Sleep(time.Minute)
	s.same("the risk is over", []int{s.start(c.ID, "sixth").Blamed, s.start(d.ID, "sixth").Blamed}, []int{1, 0})
	s.must(s.Reopen(t.Context(), c.ID))
	s.same("the crashes blamed on a reopened run", s.reread(c.ID).Blamed, 0)
}

func deathsOfOneself(t *testing.T, s store) {
	r := s.dies(s.opened("room", 1), "owner")
	s.same("deaths without a heartbeat", r.Deaths, 1)
	s.beat("owner", time.Minute)
	s.same("deaths", s.start(r.ID, "owner").Deaths, 0)
	time.Sleep(time.Minute)
	s.start(r.ID, "owner")
	s.beat("owner", time.Minute)
	s.same("deaths", s.reread(r.ID).Deaths, 0)
}

// A holder that was out of touch for longer than its heartbeat counts, and starts a run before its next one, is not counted among the
// dead: the run would be taken for one that ends processes, and set aside.
func deathsOfLate(t *testing.T, s store) {
	s.beat("late", time.Minute)
	r := s.dies(s.opened("room", 1), "first")
	s.same("deaths that the holder sees", s.start(r.ID, "late").Deaths, 1)
	s.same("deaths that it sees when it starts the run once more", s.start(r.ID, "late").Deaths, 1)
	s.beat("late", time.Minute)
	s.same("deaths", s.reread(r.ID).Deaths, 1)
}

func attemptsCounted(t *testing.T, s store) {
	s.beat("owner", time.Hour)
	r := s.start(s.opened("room", 1).ID, "owner")
	s.attempt(r)
	s.note(r, chat.Note{Text: "more"})
	s.attempt(r)
	s.same("attempts", s.reread(r.ID).Attempts, 2)
	s.same("attempts of the next holder", s.start(r.ID, "owner").Attempts, 2)
	for _, message := range [][]quota.Charge{nil, {{Bucket: "ada", Cost: quota.Cost{Messages: 1}}}} {
		_, err := s.Attempt(t.Context(), r.ID, r.Epoch, day, message...)
		s.fails(err, answer.ErrLost)
	}
	s.spent(day, "ada", quota.Cost{})
	s.same("attempts", s.openRuns("room")[0].Attempts, 2)
}

func deathsReopened(t *testing.T, s store) {
	r := s.dies(s.opened("room", 1), "first")
	s.beat("owner", time.Hour)
	held := s.start(r.ID, "owner")
	s.attempt(held)
	s.must(s.Reopen(t.Context(), r.ID))
	got := s.reread(r.ID)
	s.same("deaths and attempts", []int{got.Deaths, got.Attempts}, []int{0, 0})
}

// aside is a run that is set aside, after deaths and attempts.
func (s store) aside(room chat.RoomID, n int) chat.Run {
	s.t.Helper()
	s.beat("owner", time.Hour)
	r := s.start(s.dies(s.opened(room, n), "dead").ID, "owner")
	s.attempt(r)
	s.note(r, chat.Note{Text: "so far", Shown: []chat.Shown{{ID: "m1"}}})
	s.must(s.Finish(s.t.Context(), r.ID, r.Epoch, setAside, answerOf(r, "Sorry.")))
	return r
}

var setAside = answer.Outcome{Status: answer.Failed, Failure: llm.SetAside}

func (s store) setAside(limit int) (ids []chat.RunID) {
	s.t.Helper()
	all := require.Value(s.SetAside(s.t.Context(), limit))(s.t)
	for _, r := range all {
		s.same("the list", r, s.reread(r.ID))
		ids = append(ids, r.ID)
	}
	return ids
}

func setAsideRetried(t *testing.T, s store) {
	s.same("the abandoned runs at first", s.setAside(10), []chat.RunID{})
	r := s.aside("room", 1)
	other := s.aside("other", 1)
	failed := s.start(s.opened("third", 1).ID, "owner")
	s.must(s.Finish(t.Context(), failed.ID, failed.Epoch, answer.Outcome{Status: answer.Failed, Failure: llm.ProviderIssue}, chat.Memory{}))
	s.same("the abandoned runs", s.setAside(10), []chat.RunID{other.ID, r.ID})
	s.same("the newest", s.setAside(1), []chat.RunID{other.ID})

	s.must(s.RetryRun(t.Context(), r.ID))
	s.same("the abandoned runs then", s.setAside(10), []chat.RunID{other.ID})
	s.same("the memories", s.texts("room", 0, 10), []string{"message 1"})
	open := s.openRuns("room")
	if len(open) != 1 || open[0].Outcome.Done() || open[0].Deaths != 0 || open[0].Attempts != 0 || open[0].Held {
		t.Fatalf("the open runs are %+v; want one that was never started", open)
	}
	s.same("the posted messages", open[0].Shown, []chat.Shown{{ID: "m1"}})
	s.fails(s.Finish(t.Context(), r.ID, r.Epoch, done, chat.Memory{}), answer.ErrLost)
	again := s.start(r.ID, "owner")
	s.finish(again, answerOf(again, "an answer"))
	s.same("the last memories", s.texts("room", 0, 10), []string{"message 1", "an answer"})
}

func setAsideRefused(t *testing.T, s store) {
	s.fails(s.RetryRun(t.Context(), "nothing"), chat.ErrNotFound)
	s.fails(s.RetryRun(t.Context(), s.opened("open", 1).ID), chat.ErrNotFound)
	finished := s.start(s.opened("finished", 1).ID, "owner")
	s.finish(finished, chat.Memory{})
	s.fails(s.RetryRun(t.Context(), finished.ID), chat.ErrNotFound)

	for room, n := range map[chat.RoomID]chat.Note{"acting": {Acting: "a call"}, "acted": {Acted: "a result"}} {
		r := s.start(s.opened(room, 1).ID, "owner")
		s.note(r, n)
		s.must(s.Finish(t.Context(), r.ID, r.Epoch, setAside, chat.Memory{}))
		s.fails(s.RetryRun(t.Context(), r.ID), answer.ErrLost)
	}
	back := s.aside("back", 1)
	s.must(s.Forget(t.Context(), message("back", 1).ID))
	s.fails(s.RetryRun(t.Context(), back.ID), answer.ErrLost)

	r := s.aside("room", 1)
	next := s.start(s.opened("room", 2).ID, "owner")
	s.fails(s.RetryRun(t.Context(), r.ID), chat.ErrBusy)
	s.finish(next, chat.Memory{})
	s.must(s.RetryRun(t.Context(), r.ID))
	s.fails(s.RetryRun(t.Context(), r.ID), chat.ErrNotFound)
}

func setAsideOlder(t *testing.T, s store) {
	withdrawn := s.start(s.opened("room", 1).ID, "owner")
	o := setAside
	o.Withdrawn = true
	s.must(s.Finish(t.Context(), withdrawn.ID, withdrawn.Epoch, o, chat.Memory{}))
	next := s.start(s.opened("room", 2).ID, "owner")
	s.finish(next, chat.Memory{})
	s.opened("elsewhere", 1)
	s.must(s.RetryRun(t.Context(), withdrawn.ID))
	r := s.reread(withdrawn.ID)
	s.same("the turn it is retried at", r.Retried, next.Response)
	s.same("its own turn", r.Response, chat.ResponseID(1))
	s.same("the outcome", r.Outcome, answer.Outcome{})
}

// adopt counts the death of the last owner of r, if it died, and whether r is blamed for it.
func (s *storeModel) adopt(r *ownedRun) {
	if r.Epoch > 0 && r.owner != "" && s.held[r.owner] == 0 {
		for _, o := range s.runs {
			if o.owner == r.owner && o.Epoch > 0 && !o.Outcome.Done() {
				s.held[r.owner]++
			}
		}
	}
	if deaths := s.now(r).Deaths; deaths > r.Deaths {
		if r.Deaths >= chat.SuspectDeaths || r.risk != "" || s.held[r.owner] == 1 {
			r.Blamed++
		}
		r.Deaths = deaths
	}
}
