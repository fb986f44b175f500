package coretest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"parley/core/chat"
	"parley/core/quota"
)

func ledgerChecks() []storeCheck {
	return []storeCheck{
		{"charges add up, by day and bucket", ledgerAdds},
		{"of charges that exceed a limit none is made (SE-10)", ledgerLimits},
		{"many who spend at once stay within the limit (SE-10)", ledgerRace},
		{"a run is counted once, until it is reopened (SE-19)", ledgerCountsOnce},
		{"a reservation takes what fits in all buckets (SE-19)", ledgerReserves},
		{"many who reserve at once stay within the limit (SE-19)", ledgerReservesOnce},
		{"a warning is given once a day", ledgerWarns},
	}
}

const day = "2026-11-21"

func tokens(bucket string, n, limit int) quota.Charge {
	return quota.Charge{Bucket: bucket, Cost: quota.Cost{Tokens: n}, Max: quota.Cost{Tokens: limit}}
}

func (s store) spent(day, bucket string, want quota.Cost) {
	s.t.Helper()
	got, err := s.Spent(s.t.Context(), day, bucket)
	s.must(err)
	s.same("spent from "+bucket, got, want)
}

func (s store) spend(day, over string, charges ...quota.Charge) {
	s.t.Helper()
	got, err := s.Spend(s.t.Context(), day, charges...)
	s.must(err)
	s.same("over its limit", got, over)
}

func ledgerAdds(t *testing.T, s store) {
	s.spent(day, "ada", quota.Cost{})
	s.spend(day, "", quota.Charge{Bucket: "ada", Cost: quota.Cost{Messages: 1, Tokens: 10}}, tokens("all", 10, 0))
	s.spend(day, "", tokens("ada", 5, 0), tokens("all", 5, 0))
	s.spend("2026-11-22", "", tokens("ada", 7, 0))
	s.spend(day, "", tokens("ada", -3, 1)) // settled, after the day
	s.spent(day, "ada", quota.Cost{Messages: 1, Tokens: 12})
	s.spent(day, "all", quota.Cost{Tokens: 15})
	s.spent("2026-11-22", "ada", quota.Cost{Tokens: 7})
	s.spent(day, "eve", quota.Cost{})
}

func ledgerLimits(t *testing.T, s store) {
	s.spend(day, "", tokens("ada", 6, 10), tokens("all", 6, 20))
	s.spend(day, "ada", tokens("all", 5, 20), tokens("ada", 5, 10))
	s.spent(day, "all", quota.Cost{Tokens: 6})
	s.spend(day, "", tokens("ada", 4, 10))
	s.spend(day, "ada", tokens("ada", 1, 10))
	s.spend(day, "", quota.Charge{Bucket: "ada", Cost: quota.Cost{Messages: 1}, Max: quota.Cost{Messages: 1, Tokens: 1}}) // adds no tokens
	s.spend(day, "ada", quota.Charge{Bucket: "ada", Cost: quota.Cost{Messages: 1}, Max: quota.Cost{Messages: 1}})
	s.spend("2026-11-22", "", tokens("ada", 10, 10))
	s.spent(day, "ada", quota.Cost{Messages: 1, Tokens: 10})
}

func ledgerRace(t *testing.T, s store) {
	var all sync.WaitGroup
	for n := range 40 {
		bucket := fmt.Sprint("person ", n%2)
		all.Go(func() {
			if _, err := s.Spend(context.WithoutCancel(t.Context()), day, tokens(bucket, 10, 0), tokens("all", 10, 255)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.spent(day, "all", quota.Cost{Tokens: 250})
	one, err := s.Spent(t.Context(), day, "person 0")
	s.must(err)
	s.spent(day, "person 1", quota.Cost{Tokens: 250 - one.Tokens})
}

func ledgerWarns(t *testing.T, s store) {
	s.spend(day, "", tokens("ada", 1, 0))
	for _, c := range []struct {
		day, bucket string
		first       bool
	}{{day, "ada", true}, {day, "ada", false}, {day, "bob", true}, {"2026-11-22", "ada", true}, {day, "ada", false}} {
		got, err := s.Warn(t.Context(), c.day, c.bucket)
		s.must(err)
		s.same("the first warning of "+c.bucket+" on "+c.day, got, c.first)
	}
	s.spent(day, "ada", quota.Cost{Tokens: 1})
}

func ledgerCountsOnce(t *testing.T, s store) {
	one := quota.Charge{Bucket: "ada", Cost: quota.Cost{Messages: 1}, Max: quota.Cost{Messages: 2}}
	count := func(run chat.RunID, over string) {
		t.Helper()
		got, err := s.Count(t.Context(), day, run, one)
		s.must(err)
		s.same("over its limit", got, over)
	}
	first := s.opened("room", 1)
	count(first.ID, "")
	count(first.ID, "")
	first = s.start(first.ID, "owner")
	count(first.ID, "")
	s.spent(day, "ada", quota.Cost{Messages: 1})
	s.finish(first, answerOf(first, "answer"))
	s.must(s.Reopen(t.Context(), first.ID))
	count(first.ID, "")
	s.spent(day, "ada", quota.Cost{Messages: 2})
	second := s.opened("room", 2)
	count(second.ID, "ada")
	s.spent(day, "ada", quota.Cost{Messages: 2})
	one.Max.Messages = 3
	count(second.ID, "") // what was refused is not counted
	s.spent(day, "ada", quota.Cost{Messages: 3})
	_, err := s.Count(t.Context(), day, "no such run", one)
	s.fails(err, chat.ErrNotFound)
	s.spent(day, "ada", quota.Cost{Messages: 3})
}

func (s store) reserve(least, most, want int, over string, charges ...quota.Charge) {
	s.t.Helper()
	got, full, err := s.Reserve(s.t.Context(), day, least, most, charges...)
	s.must(err)
	s.same("reserved", got, want)
	s.same("over its limit", full, over)
}

func ledgerReserves(t *testing.T, s store) {
	ada, all := tokens("ada", 0, 100), tokens("all", 0, 150)
	s.reserve(10, 40, 40, "", ada, all)
	s.reserve(10, 90, 60, "", all, ada)
	s.spent(day, "ada", quota.Cost{Tokens: 100})
	s.spent(day, "all", quota.Cost{Tokens: 100})
	s.reserve(1, 90, 0, "ada", all, ada)
	s.reserve(51, 60, 0, "all", all, tokens("bob", 0, 0))
	s.spent(day, "all", quota.Cost{Tokens: 100})
	s.spent(day, "bob", quota.Cost{})
	s.reserve(50, 60, 50, "", all, tokens("bob", 0, 0))
	s.spend(day, "", tokens("all", 30, 0)) // more came than was reserved
	s.reserve(1, 1, 0, "all", all)
	s.reserve(20, 30, 0, "one", tokens("one", 0, 10), tokens("two", 0, 10))
	s.reserve(1, 7, 7, "", tokens("free", 0, 0))
	s.reserve(1, 7, 7, "")
}

func ledgerReservesOnce(t *testing.T, s store) {
	var all sync.WaitGroup
	for n := range 40 {
		bucket := fmt.Sprint("person ", n%2)
		all.Go(func() {
			if _, _, err := s.Reserve(context.WithoutCancel(t.Context()), day, 5, 10, tokens(bucket, 0, 0), tokens("all", 0, 255)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.spent(day, "all", quota.Cost{Tokens: 255})
	one, err := s.Spent(t.Context(), day, "person 0")
	s.must(err)
	s.spent(day, "person 1", quota.Cost{Tokens: 255 - one.Tokens})
}
