package storagetest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/core/chat"
	"parley/core/quota"
	"parley/internal/require"
)

func ledgerChecks() []storeCheck {
	return []storeCheck{
		{"charges add up by day and bucket", ledgerAdds},
		{"charges over a limit are refused together (SE-10)", ledgerLimits},
		{"concurrent charges stay within the limit (SE-10)", ledgerRace},
		{"a run is counted once until it is reopened (SE-19)", ledgerCountsOnce},
		{"an attempt and its message are counted together or not at all", ledgerCountsAttempts},
		{"a reservation takes the amount that fits in all buckets (SE-19)", ledgerReserves},
		{"concurrent reservations stay within the limit (SE-19)", ledgerReservesOnce},
		{"a reservation takes the money that is left", ledgerReservesMoney},
		{"concurrent reservations of money stay within the limit", ledgerReservesMoneyOnce},
		{"usage adds up by bucket over days", ledgerUsed},
		{"totals are bounded and don't overflow", ledgerBounds},
		{"expiry keeps the days of the month and deletes those of answers", ledgerKeeps},
		{"a warning is given once a day", ledgerWarns},
	}
}

const day = "2026-11-21"

func tokens(bucket string, n, limit int) quota.Charge {
	return quota.Charge{Bucket: bucket, Cost: quota.Cost{Tokens: n}, Max: quota.Cost{Tokens: limit}}
}

func (s store) spent(day, bucket string, want quota.Cost) {
	s.t.Helper()
	got := require.Value(s.Spent(s.t.Context(), day, bucket))(s.t)
	s.same("spent from "+bucket, got, want)
}

func (s store) spend(day, over string, charges ...quota.Charge) {
	s.t.Helper()
	got := require.Value(s.Spend(s.t.Context(), day, charges...))(s.t)
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
	one := require.Value(s.Spent(t.Context(), day, "person 0"))(s.t)
	s.spent(day, "person 1", quota.Cost{Tokens: 250 - one.Tokens})
}

func ledgerWarns(t *testing.T, s store) {
	s.spend(day, "", tokens("ada", 1, 0))
	for _, c := range []struct {
		day, bucket string
		first       bool
	}{{day, "ada", true}, {day, "ada", false}, {day, "bob", true}, {"2026-11-22", "ada", true}, {day, "ada", false}} {
		got := require.Value(s.Warn(t.Context(), c.day, c.bucket))(s.t)
		s.same("the first warning of "+c.bucket+" on "+c.day, got, c.first)
	}
	s.spent(day, "ada", quota.Cost{Tokens: 1})
	if first, err := s.Warn(t.Context(), day, "\xff"); err == nil {
		t.Errorf("a charge to an invalid bucket returned %v; want an error", first)
	}
}

func ledgerCountsOnce(t *testing.T, s store) {
	one := quota.Charge{Bucket: "ada", Cost: quota.Cost{Messages: 1}, Max: quota.Cost{Messages: 2}}
	count := func(run chat.RunID, over string) {
		t.Helper()
		got := require.Value(s.Count(t.Context(), day, run, one))(s.t)
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

func ledgerCountsAttempts(t *testing.T, s store) {
	one := quota.Charge{Bucket: "ada", Cost: quota.Cost{Messages: 1}, Max: quota.Cost{Messages: 2}}
	s.beat("owner", time.Hour)
	attempt := func(r chat.Run, over string, attempts, messages int) {
		t.Helper()
		got := require.Value(s.Attempt(t.Context(), r.ID, r.Epoch, day, one))(s.t)
		s.same("over its limit", got, over)
		s.same("attempts", s.reread(r.ID).Attempts, attempts)
		s.spent(day, "ada", quota.Cost{Messages: messages})
	}
	first := s.start(s.opened("room", 1).ID, "owner")
	attempt(first, "", 1, 1)
	attempt(first, "", 2, 1)
	over := require.Value(s.Count(t.Context(), day, first.ID, one))(s.t)
	s.same("over its limit", over, "")
	attempt(s.start(first.ID, "owner"), "", 3, 1)
	second := s.start(s.opened("elsewhere", 1).ID, "owner")
	require.Value(s.Count(t.Context(), day, second.ID, one))(s.t)
	attempt(second, "", 1, 2)
	third := s.start(s.opened("room 3", 1).ID, "owner")
	attempt(third, "ada", 0, 2)
	s.attempt(third)
	s.same("attempts", s.reread(third.ID).Attempts, 1)
	one.Max.Messages = 3
	attempt(third, "", 2, 3) // what was refused is not counted
}

func (s store) reserve(least, most, want int, over string, charges ...quota.Charge) {
	s.t.Helper()
	got, full, err := s.Reserve(s.t.Context(), day, quota.Reservation{Least: least, Most: most}, charges...)
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
			if _, _, err := s.Reserve(context.WithoutCancel(t.Context()), day, quota.Reservation{Least: 5, Most: 10}, tokens(bucket, 0, 0), tokens("all", 0, 255)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.spent(day, "all", quota.Cost{Tokens: 255})
	one := require.Value(s.Spent(t.Context(), day, "person 0"))(s.t)
	s.spent(day, "person 1", quota.Cost{Tokens: 255 - one.Tokens})
}

func money(bucket string, limit quota.USD) quota.Charge {
	return quota.Charge{Bucket: bucket, Max: quota.Cost{USD: limit}}
}

func ledgerReservesMoney(t *testing.T, s store) {
	// 10 tokens cost 100 together, and each further one 5.
	r := quota.Reservation{Least: 12, Most: 50, Included: 10, Base: 100, Rate: 5000}
	reserve := func(want int, over string, charges ...quota.Charge) {
		t.Helper()
		got, full, err := s.Reserve(t.Context(), day, r, charges...)
		s.must(err)
		s.same("reserved", got, want)
		s.same("over its limit", full, over)
	}
	ada, all := money("ada", 500), money("all", 1000)
	reserve(50, "", ada, all) // 300
	s.spent(day, "ada", quota.Cost{Tokens: 50, USD: 300})
	reserve(30, "", ada, all) // the last 200
	s.spent(day, "ada", quota.Cost{Tokens: 80, USD: 500})
	s.spent(day, "all", quota.Cost{Tokens: 80, USD: 500})
	reserve(0, "ada", all, ada)
	s.spend(day, "", quota.Charge{Bucket: "ada", Cost: quota.Cost{Tokens: -20, USD: -104}}) // settled
	reserve(0, "ada", all, ada)                                                             // 104 are for no two further tokens
	s.spend(day, "", quota.Charge{Bucket: "ada", Cost: quota.Cost{USD: -6}})
	reserve(12, "", all, ada)
	s.spent(day, "ada", quota.Cost{Tokens: 72, USD: 500})
	both := money("ada", 10_000)
	both.Max.Tokens = 90
	reserve(18, "", both)
	r = quota.Reservation{Least: 7, Most: 7, Included: 7, Base: 3} // a fixed price
	reserve(0, "all", money("all", 612))
	reserve(7, "", money("all", 613))
	s.spend(day, "over", quota.Charge{Bucket: "over", Cost: quota.Cost{USD: 2}, Max: quota.Cost{USD: 1}})
}

func ledgerReservesMoneyOnce(t *testing.T, s store) {
	r := quota.Reservation{Least: 5, Most: 10, Included: 4, Base: 40, Rate: 10_000}
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if _, _, err := s.Reserve(context.WithoutCancel(t.Context()), day, r, money("all", 1055)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.spent(day, "all", quota.Cost{Tokens: 105, USD: 1050}) // ten of 100, and one of the 50 that are left
}

func ledgerUsed(t *testing.T, s store) {
	add := func(day, bucket string, tokens int, usd quota.USD) {
		s.spend(day, "", quota.Charge{
			Bucket: bucket, Cost: quota.Cost{Messages: 1, Tokens: tokens, USD: usd}, Counts: quota.Counts{Input: tokens, Cached: 1, Output: 2, Unpriced: 3},
		})
	}
	add("2026-11-01", "model/a", 10, 100)
	add("2026-11-21", "model/a", 5, 1<<40)
	add("2026-11-21", "model/b", 7, 7)
	add("2026-11-21", "total", 1, 1)
	add("2026-11-21", "model0", 1, 1)
	add("2026-11-22", "model/a", 1, 1)
	one := quota.Counts{Cached: 1, Output: 2, Unpriced: 3}
	total := func(bucket string, days, tokens int, usd quota.USD) quota.Total {
		t := quota.Total{Bucket: bucket, Cost: quota.Cost{Messages: days, Tokens: tokens, USD: usd}, Counts: quota.Counts{Input: tokens}}
		for range days {
			t.Counts = t.Counts.Add(one)
		}
		return t
	}
	for _, c := range []struct {
		from, to string
		buckets  []string
		want     []quota.Total
	}{
		{"2026-11-01", "2026-11-21", []string{"model/*"}, []quota.Total{total("model/a", 2, 15, 1<<40+100), total("model/b", 1, 7, 7)}},
		{"2026-11-21", "2026-11-21", []string{"total", "model/a", "no such"}, []quota.Total{total("model/a", 1, 5, 1<<40), total("total", 1, 1, 1)}},
		{"2026-11-23", "2026-11-30", []string{"model/*", "total"}, nil},
		{"2026-11-01", "2026-11-30", nil, nil},
	} {
		got := require.Value(s.Used(t.Context(), c.from, c.to, c.buckets...))(s.t)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v from %s to %s: %+v, not %+v", c.buckets, c.from, c.to, got, c.want)
		}
	}
}

// What a provider or an earlier version counted must not make totals unreadable.
func ledgerBounds(t *testing.T, s store) {
	huge := quota.Charge{
		Bucket: "ada", Cost: quota.Cost{Messages: math.MaxInt, Tokens: math.MaxInt, USD: math.MaxInt64},
		Counts: quota.Counts{Input: math.MaxInt, Cached: math.MaxInt, Output: math.MaxInt, Unpriced: math.MaxInt},
	}
	days := []string{"2026-11-01", "2026-11-02", "2026-11-03"}
	for _, day := range days {
		for range 3 {
			s.spend(day, "", huge)
		}
		s.spend(day, "", tokens("low", math.MinInt, 0), tokens("low", math.MinInt, 0))
		s.spent(day, "ada", quota.Cost{Messages: quota.MostTotal, Tokens: quota.MostTotal, USD: quota.MostTotal})
		s.spent(day, "low", quota.Cost{Tokens: -quota.MostTotal})
		over := require.Value(s.Spend(t.Context(), day, tokens("ada", 1, 100)))(s.t)
		s.same("over its limit", over, "ada")
		got, over, err := s.Reserve(t.Context(), day, quota.Reservation{Least: 1, Most: 1, Included: 1}, tokens("ada", 0, 100))
		s.must(err)
		s.same("reserved "+over, got, 0)
	}
	all := require.Value(s.Used(t.Context(), days[0], days[2], "ada", "low"))(s.t)
	const most = 3 * quota.MostTotal
	s.same("used", all, []quota.Total{
		{Bucket: "ada", Cost: quota.Cost{Messages: most, Tokens: most, USD: most}, Counts: quota.Counts{Input: most, Cached: most, Output: most, Unpriced: most}},
		{Bucket: "low", Cost: quota.Cost{Tokens: -most}},
	})
}

func ledgerKeeps(t *testing.T, s store) {
	s.spend("2026-10-01", "", tokens("ada", 1, 0), tokens(quota.AnswerBuckets+"1", 1, 0))
	s.spend("2026-10-30", "", tokens(quota.AnswerBuckets+"3", 1, 0))
	s.spend("2026-10-31", "", tokens("ada", 2, 0), tokens(quota.AnswerBuckets+"2", 2, 0))
	s.spend("2026-11-01", "", tokens("ada", 4, 0))
	for bucket, want := range map[string]int{"ada": 7, quota.AnswerBuckets + "1": 0, quota.AnswerBuckets + "2": 2, quota.AnswerBuckets + "3": 0} {
		got := require.Value(s.Used(t.Context(), "2026-10-01", "2026-11-01", bucket))(s.t)
		sum := 0
		for _, t := range got {
			sum += t.Tokens
		}
		s.same("used of "+bucket, sum, want)
	}
	s.spend("2026-11-30", "", tokens("ada", 1, 0))
	s.spent("2026-10-01", "ada", quota.Cost{})
	s.spent("2026-10-31", "ada", quota.Cost{Tokens: 2})
	s.spent("2026-11-01", "ada", quota.Cost{Tokens: 4})
}
